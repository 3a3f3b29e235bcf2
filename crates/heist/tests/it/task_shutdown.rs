//! The end of a pool that has tasks, and the end of tasks that are not let run to theirs.
//!
//! Public bugs of this kind: tokio #1972 (a task dropped inside of `wake`, under a lock of the caller's: deadlock), tokio #2046 (a
//! drop handler that wakes, during shut-down: deadlock), tokio #2119 (a hang in shut-down beside a blocking call).

use crate::rig::byte;
use crate::rig::ends::{Ends, Life};
use crate::rig::fenced;
use crate::rig::gate::Gate;
use crate::rig::watchdog::watch;
use heist::{ShutdownError, ThreadPool, ThreadPoolBuilder, block_on, task, time};
use heist_sync::atomic::{AtomicBool, Ordering};
use std::future::{Future, poll_fn};
use std::io::Write;
use std::pin::Pin;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

const NAME: &str = "the pool's";

/// A pool whose threads have a name.
fn named(workers: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(workers).thread_name(|_| NAME.into()).build().unwrap()
}

fn thread() -> String {
    std::thread::current().name().unwrap_or_default().to_owned()
}

/// Sends the name of the thread that drops it.
struct Tells(Sender<String>);

impl Drop for Tells {
    fn drop(&mut self) {
        let _ = self.0.send(thread());
    }
}

/// Gives its waker away at its first turn, and is ready when the flag is set.
struct Sleeper {
    waker: Sender<Waker>,
    given: bool,
    ready: Arc<AtomicBool>,
    _tells: Option<Tells>,
    life: Life,
}

impl Future for Sleeper {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.ready.load(Ordering::Acquire) {
            self.life.end();
            return Poll::Ready(());
        }
        if !std::mem::replace(&mut self.given, true) {
            self.waker.send(cx.waker().clone()).unwrap();
        }
        Poll::Pending
    }
}

/// Tasks that sleep in a pool that is gone, their wakers, and what makes them ready.
struct Survivors {
    handles: Vec<task::JoinHandle<()>>,
    wakers: Vec<Waker>,
    ready: Arc<AtomicBool>,
    ends: Arc<Ends>,
}

fn survivors(workers: usize, tasks: usize) -> Survivors {
    let (pool, ends) = (named(workers), Ends::new(tasks));
    let ready = Arc::new(AtomicBool::new(false));
    let (send, receive) = channel();
    let sleeper = |id| Sleeper {
        waker: send.clone(),
        given: false,
        ready: Arc::clone(&ready),
        _tells: None,
        life: ends.life(id),
    };
    let handles = (0..tasks).map(|id| pool.spawn_task(sleeper(id))).collect();
    let wakers = receive.iter().take(tasks).collect();
    pool.shutdown().unwrap();
    Survivors { handles, wakers, ready, ends }
}

/// Wakers are used when the pool's threads have left: the tasks run to their end all the same.
#[test]
fn woken_after_the_pool_is_gone() {
    let _watch = watch!();
    for workers in [1, 2, 4] {
        let Survivors { handles, wakers, ready, ends } = survivors(workers, 300);
        ready.store(true, Ordering::Release);
        for (i, waker) in wakers.into_iter().enumerate() {
            if i % 2 == 0 {
                waker.wake_by_ref();
            }
            waker.wake();
        }
        for handle in handles {
            block_on(handle).unwrap();
        }
        ends.wait();
        ends.check_all_ended("woken late");
    }
}

/// What was woken late may still use everything.
#[test]
fn a_late_task_has_all_doors() {
    let _watch = watch!();
    let (pool, gate) = (named(2), Gate::new());
    let go = gate.clone();
    let (mut near, far) = byte::ends();
    let late = pool.spawn_task(async move {
        go.await;
        task::yield_now().await;
        time::sleep(Duration::from_millis(1)).await;
        let sum = heist::join(|| 1, || 2);
        let child = task::spawn(async { task::spawn_blocking(|| 3).await.unwrap() });
        let inner = block_on(async { task::compute(|| 4).await });
        (byte::read(far).await, sum, child.await.unwrap(), inner)
    });
    pool.shutdown().unwrap();
    near.write_all(&[7]).unwrap();
    gate.open();
    assert_eq!(block_on(late).unwrap(), (7, (1, 2), 3, 4));
}

/// Promise 4 does not end with the pool: a late task that blocks freezes no other.
#[test]
fn a_late_task_that_blocks() {
    let _watch = watch!();
    let (pool, gate, ran) = (named(1), Gate::new(), Gate::new());
    let (first, second) = (gate.clone(), gate.clone());
    let (blocks, opens) = (ran.clone(), ran);
    let blocker = pool.spawn_task(async move {
        first.await;
        blocks.block();
    });
    let neighbour = pool.spawn_task(async move {
        second.await;
        opens.open();
    });
    pool.shutdown().unwrap();
    gate.open();
    block_on(blocker).unwrap();
    block_on(neighbour).unwrap();
}

/// The pool is dropped while wakes are on their way.
#[test]
fn woken_while_the_pool_goes() {
    let _watch = watch!();
    for round in 0..300 {
        let (pool, ends, gate) = (named(1 + round % 3), Ends::new(20), Gate::new());
        for id in 0..20 {
            let (life, gate) = (ends.life(id), gate.clone());
            drop(pool.spawn_task(async move {
                gate.await;
                task::yield_now().await;
                life.end();
            }));
        }
        let opens = gate.clone();
        let opener = std::thread::spawn(move || opens.open());
        if round % 2 == 0 {
            drop(pool)
        } else {
            pool.shutdown().unwrap()
        }
        opener.join().unwrap();
        ends.wait();
        ends.check_all_ended(&format!("round {round}"));
    }
}

/// A pool that has been dropped looks after its timers and sockets until they have been seen to.
#[test]
fn a_dropped_pool_keeps_its_timers_and_sockets() {
    let _watch = watch!();
    let pool = named(2);
    let (mut near, far) = byte::ends();
    let registered = Gate::new();
    let reads = registered.clone();
    let socket = pool.spawn_task(async move {
        let mut read = Box::pin(byte::read(far));
        let polled = poll_fn(|cx| Poll::Ready(read.as_mut().poll(cx))).await;
        assert!(polled.is_pending());
        reads.open();
        (read.await, thread())
    });
    let timer = pool.spawn_task(async move {
        time::sleep(Duration::from_millis(20)).await;
        thread()
    });
    registered.block();
    drop(pool);
    assert_eq!(block_on(timer).unwrap(), NAME);
    near.write_all(&[7]).unwrap();
    assert_eq!(block_on(socket).unwrap(), (7, NAME.into()));
}

/// Who ends a task that sleeps.
#[derive(Clone, Copy, Debug)]
enum End {
    /// Its handle aborts it.
    Abort,
    /// An abort handle does, after the handle has gone.
    AbortDetached,
    /// It is woken and gets ready.
    Wake,
    /// Its handle and then its last waker go, so that nobody could ever wake it.
    Forget,
    /// Its last waker and then its handle go.
    ForgetLast,
}

fn end(how: End, sleeper: task::JoinHandle<()>, waker: Waker, ready: &AtomicBool) {
    match how {
        End::Abort => sleeper.abort(),
        End::AbortDetached => {
            let abort = sleeper.abort_handle();
            drop(sleeper);
            abort.abort();
        }
        End::Wake => {
            ready.store(true, Ordering::Release);
            waker.wake();
        }
        End::Forget => {
            drop(sleeper);
            drop(waker);
        }
        End::ForgetLast => {
            drop(waker);
            drop(sleeper);
        }
    }
}

/// Whatever ends a task, its future goes on a thread of its pool, not on the one that did it: that may hold just the lock that
/// the future's drop wants.
#[test]
fn futures_are_dropped_on_a_worker() {
    let _watch = watch!();
    let elsewhere = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    for how in [End::Abort, End::AbortDetached, End::Wake, End::Forget, End::ForgetLast] {
        for is_gone in [false, true] {
            for from_a_pool in [false, true] {
                let (pool, ends) = (named(2), Ends::new(1));
                let ready = Arc::new(AtomicBool::new(false));
                let (send, receive) = channel();
                let (tell, told) = channel();
                let sleeper = Sleeper {
                    waker: send,
                    given: false,
                    ready: Arc::clone(&ready),
                    _tells: Some(Tells(tell)),
                    life: ends.life(0),
                };
                let sleeper = pool.spawn_task(sleeper);
                let waker = receive.recv().unwrap();
                let pool = if is_gone {
                    pool.shutdown().unwrap();
                    None
                } else {
                    Some(pool)
                };
                let act = move || end(how, sleeper, waker, &ready);
                if from_a_pool {
                    elsewhere.install(act)
                } else {
                    act()
                }
                let by = told.recv().unwrap();
                assert_eq!(by, NAME, "{how:?}, pool gone: {is_gone}, from a pool: {from_a_pool}");
                ends.wait();
                drop(pool);
            }
        }
    }
}

/// The lock from tokio #1972: held by whoever ends the task, wanted by the future's drop.
#[test]
fn a_drop_that_wants_the_lock_of_whoever_ends_it() {
    let _watch = watch!();
    struct Locks(Arc<Mutex<()>>, Gate);
    impl Drop for Locks {
        fn drop(&mut self) {
            drop(self.0.lock().unwrap());
            self.1.open();
        }
    }
    for how in [End::Abort, End::AbortDetached, End::Wake, End::Forget, End::ForgetLast] {
        let pool = named(1);
        let (lock, gone) = (Arc::new(Mutex::new(())), Gate::new());
        let (send, receive) = channel();
        let ready = Arc::new(AtomicBool::new(false));
        let (locks, is_ready) = (Locks(Arc::clone(&lock), gone.clone()), Arc::clone(&ready));
        let mut given = false;
        let sleeper = pool.spawn_task(async move {
            let _locks = locks;
            poll_fn(|cx| {
                if is_ready.load(Ordering::Acquire) {
                    return Poll::Ready(());
                }
                if !std::mem::replace(&mut given, true) {
                    send.send(cx.waker().clone()).unwrap();
                }
                Poll::Pending
            })
            .await;
        });
        let waker = receive.recv().unwrap();
        let held = lock.lock().unwrap();
        end(how, sleeper, waker, &ready);
        drop(held);
        gone.block();
    }
}

#[test]
fn an_aborted_task_is_cancelled() {
    let _watch = watch!();
    for workers in [1, 2] {
        let pool = named(workers);
        // While it sleeps.
        let (asleep, never) = (Gate::new(), Gate::new());
        let sleeps = asleep.clone();
        let sleeping = pool.spawn_task(async move {
            sleeps.open();
            never.await;
        });
        asleep.block();
        sleeping.abort();
        assert!(block_on(sleeping).unwrap_err().is_cancelled());
        // In the middle of a turn: that goes on to its end, and is the last one.
        for last in [false, true] {
            let (in_turn, go) = (Gate::new(), Gate::new());
            let (begins, goes) = (in_turn.clone(), go.clone());
            let running = pool.spawn_task(async move {
                begins.open();
                goes.block();
                if !last {
                    task::yield_now().await;
                }
                5
            });
            in_turn.block();
            running.abort();
            assert!(!running.is_finished());
            go.open();
            match block_on(running) {
                Ok(n) => assert!(last && n == 5, "it ended in the turn in which it was aborted"),
                Err(error) => assert!(!last && error.is_cancelled()),
            }
        }
        // After its end, which it does not change.
        let ended = pool.spawn_task(async { 6 });
        while !ended.is_finished() {
            std::thread::yield_now();
        }
        ended.abort();
        assert_eq!(block_on(ended).unwrap(), 6);
        // By itself.
        let (send, receive) = channel::<task::AbortHandle>();
        let own = pool.spawn_task(async move {
            receive.recv().unwrap().abort();
            task::yield_now().await;
        });
        send.send(own.abort_handle()).unwrap();
        assert!(block_on(own).unwrap_err().is_cancelled());
    }
}

/// A shut-down waits for jobs, timers and sockets, and not for calls on threads that are not the pool's; the task that awaits such a call
/// still ends.
#[test]
fn a_shutdown_does_not_wait_for_blocking_calls() {
    let _watch = watch!();
    let (pool, begun, go) = (named(1), Gate::new(), Gate::new());
    let (begins, goes) = (begun.clone(), go.clone());
    let task = pool.spawn_task(async move {
        let call = task::spawn_blocking(move || {
            begins.open();
            goes.block();
            5
        });
        (call.await.unwrap(), thread())
    });
    begun.block();
    // It would not return: the call ends only after.
    pool.shutdown().unwrap();
    assert!(!task.is_finished());
    go.open();
    assert_eq!(block_on(task).unwrap(), (5, NAME.into()));
    // A computation is a job of the pool, and with it the task that awaits it.
    let pool = named(1);
    let task = pool.spawn_task(async { task::compute(|| 6).await });
    pool.shutdown().unwrap();
    assert!(task.is_finished());
}

#[test]
fn a_report_names_what_is_left() {
    let _watch = watch!();
    let pool = Arc::new(named(2));
    let ends = Ends::new(3);
    let (in_turn, go, asleep) = (Gate::new(), Gate::new(), Gate::new());
    let (begins, goes, sleeps) = (in_turn.clone(), go.clone(), asleep.clone());
    let (life_a, life_b, life_c) = (ends.life(0), ends.life(1), ends.life(2));
    let install = Arc::clone(&pool);
    // In the pool, so that the builder's tasks are this pool's.
    let first_line = line!();
    let (running, sleeping) = install.install(move || {
        let running = task::Builder::new().name("blocked").spawn(async move {
            begins.open();
            goes.block();
            life_a.end();
        });
        let sleeping = task::Builder::new().name("far away").spawn(async move {
            let _life = life_b;
            sleeps.open();
            time::sleep(Duration::from_secs(3600)).await;
        });
        (running, sleeping)
    });
    drop(install);
    let unnamed_line = line!() + 1;
    let unnamed = pool.spawn_task(async move {
        let _life = life_c;
        std::future::pending::<()>().await;
    });
    in_turn.block();
    asleep.block();
    let pool = Arc::into_inner(pool).unwrap();
    let report = pool.shutdown_within(Duration::from_millis(20)).unwrap();
    assert!(!report.is_complete);
    assert!(report.threads >= 1, "one thread is blocked");
    let text = report.to_string();
    assert_eq!(report.tasks.len(), 3, "{text}");
    let find = |name: Option<&str>| report.tasks.iter().find(|task| task.name() == name).expect(&text);
    let (blocked, far, third) = (find(Some("blocked")), find(Some("far away")), find(None));
    assert_eq!(blocked.state(), task::State::Running);
    assert_eq!(far.state(), task::State::Waiting);
    assert_eq!((blocked.id(), far.id(), third.id()), (running.id(), sleeping.id(), unnamed.id()));
    assert_eq!((third.site().file(), third.site().line()), (file!(), unnamed_line));
    for task in [blocked, far] {
        assert_eq!(task.site().file(), file!());
        assert!((first_line..unnamed_line).contains(&task.site().line()));
    }
    for part in ["blocked", "far away", file!()] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    // They have been aborted.
    assert!(block_on(sleeping).unwrap_err().is_cancelled());
    assert!(block_on(unnamed).unwrap_err().is_cancelled());
    go.open();
    block_on(running).expect("it ended in the turn in which it was aborted");
    ends.wait();
}

#[test]
fn a_report_of_nothing() {
    let _watch = watch!();
    let pool = named(2);
    let done = pool.spawn_task(async { 1 });
    let report = pool.shutdown_within(Duration::from_secs(3600)).unwrap();
    assert!(report.is_complete, "{report}");
    assert!(report.tasks.is_empty() && report.threads == 0);
    assert_eq!(block_on(done).unwrap(), 1);
    // A thread of the pool cannot wait for its own end.
    let pool = Arc::new(Mutex::new(Some(named(1))));
    let own = Arc::clone(&pool);
    let (send, receive) = channel();
    pool.lock().unwrap().as_ref().unwrap().spawn(move || {
        let pool = own.lock().unwrap().take().unwrap();
        send.send(pool.shutdown_within(Duration::ZERO)).unwrap();
    });
    assert!(matches!(receive.recv().unwrap(), Err(ShutdownError::OwnThread)));
}

#[test]
fn in_fenced_mode() {
    let _watch = watch!();
    fenced::rerun_fenced(module_path!(), &["woken", "late", "futures_are", "aborted"]);
}
