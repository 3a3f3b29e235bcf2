//! Threads go: the pool is closing once its handle is gone, and over once nothing is left to do. A task that becomes ready later
//! still runs.

use super::{CLOSING, OPEN, OVER, Run, Threads};
use crate::pool::Pool;
use crate::worker::Given;
use heist_os::WokenFor;
use heist_sync::atomic::{Ordering, fence};
use heist_sync::clock::Instant;
use heist_sync::{lock, thread};

impl Threads {
    /// Whether the handle is gone: what was accepted still runs, then the threads leave.
    pub fn is_closing(&self) -> bool {
        self.phase.load(Ordering::Acquire) != OPEN
    }

    pub(crate) fn close(&self, pool: &Pool) {
        let _ = self.phase.compare_exchange(OPEN, CLOSING, Ordering::AcqRel, Ordering::Acquire);
        self.leave_if_done(pool);
    }

    /// Whether something is queued, due, registered, or will be due.
    fn has_work_left(&self, pool: &Pool) -> bool {
        pool.queues().has_visible_work(&self.table) || pool.due().has_tick() || pool.driver().is_used()
    }

    /// Whether nothing can happen by itself any more: nobody runs, nothing is queued, no timer is set and no socket is
    /// registered.
    pub(crate) fn is_quiescent(&self, pool: &Pool) -> bool {
        pool.permits().are_all_free() && !self.has_work_left(pool)
    }

    /// If the pool is closing and every thread of it sleeps with nothing to do, they may all leave.
    pub(crate) fn leave_if_done(&self, pool: &Pool) {
        if !self.is_closing() {
            return;
        }
        let mut open = pool.permits().open();
        // A thread that is not parked looks for work once more before it parks, and comes here after.
        if open.parked().len() < self.live.load(Ordering::Relaxed) || self.has_work_left(pool) {
            return;
        }
        self.phase.store(OVER, Ordering::Release);
        let parked: Vec<_> = open.dismiss().into_iter().filter_map(|id| self.table.get(id.into())).collect();
        parked.iter().for_each(|worker| worker.give(Given::Leave));
        drop(open);
        parked.iter().for_each(|worker| worker.wake(pool.permits(), WokenFor::Task));
        // LIVENESS: a task that became ready while the phase changed. Our phase before our look; partner: `schedule_outside`.
        fence(Ordering::SeqCst);
        if !pool.queues().tasks.is_empty() {
            self.revive(pool);
        }
    }

    /// The pool's threads have left or are leaving, and a task has become ready: its waker has outlived them. Others are started,
    /// and the pool is over again when there is nothing left to do.
    #[cold]
    pub(crate) fn revive(&self, pool: &Pool) {
        let open = pool.permits().open();
        if self.is_over() {
            self.phase.store(CLOSING, Ordering::Release);
        }
        drop(open);
        pool.permits().announce(pool, WokenFor::Task);
        if self.live() == 0 && !pool.queues().tasks.is_empty() {
            self.run_late(pool);
        }
    }

    /// No thread of the pool's own can be had for a task that became ready after the others have left: somebody else starts
    /// them, or the system refuses. A thread beside the pool runs it, and what it makes ready.
    fn run_late(&self, pool: &Pool) {
        if self.has_late.swap(true, Ordering::AcqRel) {
            return;
        }
        let pool = pool.arc();
        let run = move || {
            loop {
                while let Some(task) = pool.queues().tasks.pop() {
                    task.run();
                }
                pool.threads().has_late.store(false, Ordering::SeqCst);
                // LIVENESS: whoever pushed a task and found us at work may have done so after our last look.
                fence(Ordering::SeqCst);
                if pool.queues().tasks.is_empty() || pool.threads().has_late.swap(true, Ordering::AcqRel) {
                    return;
                }
            }
        };
        if let Err(error) = thread::Builder::new().name("heist-late".into()).spawn(Box::new(run) as Run) {
            self.has_late.store(false, Ordering::Release);
            heist_sync::warn(format_args!(
                "a task became ready after its pool was over, and no thread could be started for it ({error}); it runs once another one \
                 does, or is dropped with the pool"
            ));
        }
    }

    /// Waits until every thread has left, and joins those that the pool started. Not for a thread of the pool's own.
    pub fn join(&self) {
        let mut guard = lock(&self.left);
        while self.live.load(Ordering::Acquire) != 0 {
            guard = self.all_left.wait(guard).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        drop(guard);
        self.join_handles();
    }

    /// As [`join`](Self::join), for at most `limit`. Returns how many threads are left.
    pub fn join_within(&self, limit: std::time::Duration) -> usize {
        let begun = Instant::now();
        let mut guard = lock(&self.left);
        while self.live.load(Ordering::Acquire) != 0
            && let Some(left) = limit.checked_sub(begun.elapsed())
        {
            let waited = self.all_left.wait_timeout(guard, left);
            guard = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
        drop(guard);
        let threads = self.live.load(Ordering::Acquire);
        if threads == 0 {
            self.join_handles();
        }
        threads
    }

    fn join_handles(&self) {
        loop {
            // Not under the lock: a thread that leaves may start another for a task that came late, and then there is one more to join.
            let Some(handle) = lock(&self.handles).pop() else { return };
            // Jobs and handlers do not unwind out of a thread.
            let _ = handle.join();
        }
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use crate::pool::{Config, Pool};
    use heist_sync::{lock, thread};
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    /// A thread that starts another one while the pool waits for it: both are joined.
    #[test]
    fn a_thread_that_is_joined_may_start_another() {
        let pool = Pool::new(Config { parallelism: 1, ..Config::default() });
        let (push, pushed) = mpsc::channel();
        let (end, ended) = mpsc::channel();
        let starter = {
            let pool = pool.clone();
            thread::spawn(move || {
                pushed.recv().unwrap();
                let begun = Instant::now();
                let mut handles = loop {
                    match pool.threads().handles.try_lock() {
                        // Somebody joins us.
                        Ok(handles) if handles.is_empty() => break handles,
                        _ => assert!(begun.elapsed() < Duration::from_secs(20), "the lock is never free"),
                    }
                    thread::yield_now();
                };
                handles.push(thread::spawn(move || end.send(()).unwrap()));
            })
        };
        lock(&pool.threads().handles).push(starter);
        push.send(()).unwrap();
        pool.threads().join();
        assert!(ended.try_recv().is_ok(), "the second thread has ended");
    }
}
