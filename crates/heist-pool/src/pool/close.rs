//! Threads go: the pool is closing once its handle is gone, and over once nothing is left to do. A task that becomes ready later
//! still runs.

use super::{CLOSING, OPEN, OVER, Pool};
use heist_sync::atomic::{Ordering, fence};
use heist_sync::{lock, thread};

impl Pool {
    /// Whether the handle is gone: what was accepted still runs, then the threads leave.
    pub fn is_closing(&self) -> bool {
        self.phase.load(Ordering::Acquire) != OPEN
    }

    pub(crate) fn is_over(&self) -> bool {
        self.phase.load(Ordering::Acquire) == OVER
    }

    /// No more work will come from outside. What was accepted still runs; then the threads leave. Never blocks.
    pub fn close(&self) {
        let _ = self.phase.compare_exchange(OPEN, CLOSING, Ordering::AcqRel, Ordering::Acquire);
        self.leave_if_done();
    }

    /// If the pool is closing and every thread of it sleeps with nothing to do, they may all leave.
    pub(crate) fn leave_if_done(&self) {
        let mut desk = self.idle.open();
        // A thread that is not parked looks for work once more before it parks, and comes here after.
        if desk.parked().len() < self.live.load(Ordering::Relaxed)
            || self.has_visible_work()
            || self.attendance.is_used()
        {
            return;
        }
        self.phase.store(OVER, Ordering::Release);
        let parked = desk.dismiss();
        drop(desk);
        for id in parked {
            if let Some(worker) = self.table.get(id.into()) {
                worker.dismiss(&self.attendance);
            }
        }
        // LIVENESS: a task that became ready while the phase changed. Our phase before our look; partner: `schedule_outside`.
        fence(Ordering::SeqCst);
        if !self.tasks.is_empty() {
            self.revive();
        }
    }

    /// Waits until every thread has left, and joins those that the pool started. Not for a thread of the pool's own.
    pub fn join_threads(&self) {
        let mut guard = lock(&self.left);
        while self.live.load(Ordering::Acquire) != 0 {
            guard = self.all_left.wait(guard).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        drop(guard);
        self.join_handles();
    }

    /// As [`join_threads`](Self::join_threads), for at most `limit`. Returns how many threads are left.
    #[cfg(not(any(heist_loom, heist_shuttle)))]
    pub fn join_threads_within(&self, limit: std::time::Duration) -> usize {
        let begun = std::time::Instant::now();
        let mut guard = lock(&self.left);
        loop {
            let threads = self.live.load(Ordering::Acquire);
            let left = limit.saturating_sub(begun.elapsed());
            if threads == 0 || left.is_zero() {
                drop(guard);
                if threads == 0 {
                    self.join_handles();
                }
                return threads;
            }
            guard =
                self.all_left.wait_timeout(guard, left).unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
    }

    fn join_handles(&self) {
        for handle in std::mem::take(&mut *lock(&self.handles)) {
            // Jobs and handlers do not unwind out of a thread.
            let _ = handle.join();
        }
    }

    /// The pool's threads have left or are leaving, and a task has become ready: its waker has outlived them. Others are started,
    /// and the pool is over again when there is nothing left to do.
    #[cold]
    pub(super) fn revive(&self) {
        let desk = self.idle.open();
        if self.is_over() {
            self.phase.store(CLOSING, Ordering::Release);
        }
        drop(desk);
        self.announce_task();
        if self.live() == 0 && !self.tasks.is_empty() {
            self.run_late();
        }
    }

    /// No thread of the pool's own can be had for a task that became ready after the others have left: somebody else starts
    /// them, or the system refuses. A thread beside the pool runs it, and what it makes ready.
    fn run_late(&self) {
        if self.late.swap(true, Ordering::AcqRel) {
            return;
        }
        let this = self.arc();
        let run = move || {
            loop {
                while let Some(task) = this.tasks.pop() {
                    task.run();
                }
                this.late.store(false, Ordering::SeqCst);
                // LIVENESS: whoever pushed a task and found us at work may have done so after our last look.
                fence(Ordering::SeqCst);
                if this.tasks.is_empty() || this.late.swap(true, Ordering::AcqRel) {
                    return;
                }
            }
        };
        if let Err(error) = thread::Builder::new().name("heist-late".into()).spawn(run) {
            self.late.store(false, Ordering::Release);
            self.warn_start(&error);
        }
    }
}
