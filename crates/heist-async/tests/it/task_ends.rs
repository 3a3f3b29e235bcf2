//! Every way for a task to end: where it panics, when it is aborted, when its handle goes. The future is dropped once, on a
//! thread of the pool; the output is dropped once; a panic arrives once.

use crate::rig::watchdog::watch;
use heist_async::block_on;
use heist_async::task::{self, JoinHandle};
use heist_pool::raw::pool::{Config, Pool};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Panic {
    Nowhere,
    InPoll,
    InDropOfFuture,
    InDropOfOutput,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Abort {
    Never,
    BeforeFirstPoll,
    DuringPoll,
    WhileWaiting,
    AfterEnd,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Handle {
    Awaited,
    DroppedAtOnce,
    DroppedDuringPoll,
    DroppedWhileWaiting,
    DroppedAfterEnd,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Case {
    panic: Panic,
    abort: Abort,
    handle: Handle,
}

fn cases() -> impl Iterator<Item = Case> {
    use {Abort::*, Handle::*, Panic::*};
    let panics = [Nowhere, InPoll, InDropOfFuture, InDropOfOutput];
    let aborts = [Never, BeforeFirstPoll, DuringPoll, WhileWaiting, AfterEnd];
    let handles = [Awaited, DroppedAtOnce, DroppedDuringPoll, DroppedWhileWaiting, DroppedAfterEnd];
    panics.into_iter().flat_map(move |panic| {
        aborts
            .into_iter()
            .flat_map(move |abort| handles.into_iter().map(move |handle| Case { panic, abort, handle }))
    })
}

#[derive(Default)]
struct Seen {
    polls: AtomicUsize,
    future_drops: AtomicUsize,
    output_drops: AtomicUsize,
    waker: Mutex<Option<Waker>>,
}

/// The first poll says that it has begun and waits until it may go on; the second ends.
struct Probe {
    seen: Arc<Seen>,
    panic: Panic,
    begun: mpsc::Sender<()>,
    go_on: mpsc::Receiver<()>,
    foreign: std::thread::ThreadId,
}

struct Output {
    seen: Arc<Seen>,
    panics: bool,
}

impl Future for Probe {
    type Output = Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Output> {
        if self.seen.polls.fetch_add(1, Ordering::Relaxed) == 0 {
            self.begun.send(()).unwrap();
            self.go_on.recv().unwrap();
            *self.seen.waker.lock().unwrap() = Some(cx.waker().clone());
            return Poll::Pending;
        }
        if self.panic == Panic::InPoll {
            resume_unwind(Box::new("poll"));
        }
        Poll::Ready(Output { seen: self.seen.clone(), panics: self.panic == Panic::InDropOfOutput })
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.seen.future_drops.fetch_add(1, Ordering::Relaxed);
        assert_ne!(std::thread::current().id(), self.foreign, "the future was dropped on a foreign thread");
        if self.panic == Panic::InDropOfFuture {
            resume_unwind(Box::new("drop of the future"));
        }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.seen.output_drops.fetch_add(1, Ordering::Relaxed);
        if self.panics {
            resume_unwind(Box::new("drop of the output"));
        }
    }
}

fn until(what: &str, case: impl std::fmt::Debug, is: impl Fn() -> bool) {
    let start = Instant::now();
    while !is() {
        assert!(start.elapsed() < Duration::from_secs(20), "{case:?}: never {what}");
        std::thread::yield_now();
    }
}

/// A pool whose one thread has not come yet, and the panics that it delivers.
fn threadless() -> (Arc<Pool>, Arc<AtomicUsize>) {
    let delivered = Arc::new(AtomicUsize::new(0));
    let count = delivered.clone();
    let config = Config {
        parallelism: 1,
        foreign_threads: true,
        panic_handler: Some(Box::new(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
        })),
        ..Config::default()
    };
    (Pool::new(config), delivered)
}

fn start(pool: &Arc<Pool>) {
    heist_pool::raw::threads::ThreadStart::first(pool, 0).unwrap().spawn(None).unwrap();
}

#[test]
fn the_whole_product() {
    let _watch = watch!();
    let mut count = 0;
    for case in cases() {
        run(case);
        count += 1;
    }
    assert_eq!(count, 100);
}

fn run(case: Case) {
    let Case { panic, abort, handle: fate } = case;
    let (pool, delivered) = threadless();
    let seen = Arc::new(Seen::default());
    let (begun_tx, begun) = mpsc::channel();
    let (go_on, go_on_rx) = mpsc::channel();
    let foreign = std::thread::current().id();
    let probe = Probe { seen: seen.clone(), panic, begun: begun_tx, go_on: go_on_rx, foreign };
    let handle = task::spawn_in(&pool, probe);
    let aborter = handle.abort_handle();
    let mut handle = Some(handle);
    let mut drop_if = |now: Handle| {
        if fate == now {
            // Its panic is ours to get: it counts as told to the handle's owner.
            return catch_unwind(AssertUnwindSafe(|| drop(handle.take()))).is_err();
        }
        false
    };

    let mut told_owner = drop_if(Handle::DroppedAtOnce);
    if abort == Abort::BeforeFirstPoll {
        aborter.abort();
    }
    start(&pool);
    let mut ended = abort == Abort::BeforeFirstPoll;
    if !ended {
        begun.recv().unwrap();
        if abort == Abort::DuringPoll {
            aborter.abort();
        }
        told_owner |= drop_if(Handle::DroppedDuringPoll);
        go_on.send(()).unwrap();
        ended = abort == Abort::DuringPoll;
    }
    if !ended {
        until("waiting", case, || {
            task::dump_of(&pool).iter().any(|info| info.state() == task::State::Waiting)
        });
        told_owner |= drop_if(Handle::DroppedWhileWaiting);
        if abort == Abort::WhileWaiting {
            aborter.abort();
        } else {
            seen.waker.lock().unwrap().take().expect("it waits").wake();
        }
    }
    until("finished", case, || aborter.is_finished());
    if abort == Abort::AfterEnd {
        aborter.abort();
    }
    // A handle that was to go at a moment that never came goes now.
    let awaited = fate == Handle::Awaited;
    let mut result = None;
    match handle.take() {
        Some(handle) if awaited => result = Some(block_on(handle)),
        rest => told_owner |= catch_unwind(AssertUnwindSafe(|| drop(rest))).is_err(),
    }

    let cancelled = matches!(abort, Abort::BeforeFirstPoll | Abort::DuringPoll | Abort::WhileWaiting);
    let has_output = !cancelled && panic != Panic::InPoll;
    match result {
        Some(Ok(output)) => {
            assert!(has_output, "{case:?}");
            told_owner |= catch_unwind(AssertUnwindSafe(|| drop(output))).is_err();
        }
        Some(Err(error)) => {
            assert!(!has_output, "{case:?}: {error:?}");
            let panicked =
                panic == Panic::InPoll && !cancelled || panic == Panic::InDropOfFuture && cancelled;
            assert_eq!((error.is_panic(), error.is_cancelled()), (panicked, !panicked), "{case:?}");
            if panicked {
                let text = if cancelled { "drop of the future" } else { "poll" };
                assert_eq!(error.into_panic().downcast_ref(), Some(&text), "{case:?}");
                told_owner = true;
            }
        }
        None => assert!(!awaited),
    }

    // Everything of it is gone.
    drop(seen.waker.lock().unwrap().take());
    drop(aborter);
    until("without tasks", case, || task::dump_of(&pool).is_empty());
    pool.close();
    pool.threads().join();
    until("without the task's count", case, || Arc::strong_count(&pool) == 1);

    assert_eq!(seen.future_drops.load(Ordering::Relaxed), 1, "{case:?}");
    assert_eq!(seen.output_drops.load(Ordering::Relaxed), usize::from(has_output), "{case:?}");
    assert_eq!(Arc::strong_count(&seen), 1, "{case:?}");
    let panicked = match panic {
        Panic::Nowhere => false,
        Panic::InPoll => !cancelled,
        Panic::InDropOfFuture => true,
        Panic::InDropOfOutput => has_output,
    };
    let arrived = delivered.load(Ordering::Relaxed) + usize::from(told_owner);
    assert_eq!(arrived, usize::from(panicked), "{case:?}: a panic arrives once");
}

/// A task that waits, and its waker.
fn parked(pool: &Arc<Pool>) -> (JoinHandle<u32>, Waker) {
    let (tx, rx) = mpsc::channel();
    let mut tx = Some(tx);
    let handle = task::spawn_in(
        pool,
        std::future::poll_fn(move |cx| match tx.take() {
            Some(tx) => {
                tx.send(cx.waker().clone()).unwrap();
                Poll::Pending
            }
            None => Poll::Ready(7),
        }),
    );
    let waker = rx.recv().unwrap();
    until("waiting", "parked", || {
        task::dump_of(pool).iter().any(|i| i.id() == handle.id() && i.state() == task::State::Waiting)
    });
    (handle, waker)
}

#[test]
fn wakers_used_after_the_pool_is_gone_do_no_harm() {
    let _watch = watch!();
    for fate in 0..5 {
        let (pool, _) = threadless();
        start(&pool);
        let (handle, waker) = parked(&pool);
        pool.close();
        pool.threads().join();
        drop(pool);
        match fate {
            0 => {
                waker.wake_by_ref();
                assert_eq!(block_on(handle).unwrap(), 7);
                waker.wake_by_ref();
                waker.wake();
            }
            1 => {
                drop(handle);
                waker.wake_by_ref();
                drop(waker.clone());
                waker.wake();
            }
            2 => {
                handle.abort();
                assert!(block_on(handle).unwrap_err().is_cancelled());
                waker.wake();
            }
            3 => {
                drop(waker);
                handle.abort();
                assert!(block_on(handle).unwrap_err().is_cancelled());
            }
            _ => {
                // The last waker and the handle go: cancelled by itself.
                let done = handle.abort_handle();
                drop(handle);
                drop(waker);
                until("cancelled", fate, || done.is_finished());
            }
        }
    }
}

#[test]
fn an_awaiter_that_panics_is_reported_and_does_no_harm() {
    let _watch = watch!();
    struct Bad;
    impl Wake for Bad {
        fn wake(self: Arc<Self>) {
            resume_unwind(Box::new("waker"));
        }
    }
    let (pool, delivered) = threadless();
    start(&pool);
    let (mut handle, waker) = parked(&pool);
    let bad = Waker::from(Arc::new(Bad));
    assert!(Pin::new(&mut handle).poll(&mut Context::from_waker(&bad)).is_pending());
    waker.wake();
    until("finished", "bad waker", || handle.is_finished());
    assert_eq!(block_on(handle).unwrap(), 7);
    until("delivered", "bad waker", || delivered.load(Ordering::Relaxed) == 1);
    // The pool goes on.
    assert_eq!(block_on(task::spawn_in(&pool, async { 8 })).unwrap(), 8);
    pool.close();
}

#[test]
fn a_handle_polled_after_its_end_says_so() {
    let _watch = watch!();
    let mut handle = task::spawn(async {});
    block_on(&mut handle).unwrap();
    let again = catch_unwind(AssertUnwindSafe(|| block_on(&mut handle)));
    assert!(again.is_err());
    assert!(handle.is_finished());
}

#[test]
fn aborts_wakes_and_drops_from_all_sides() {
    let _watch = watch!();
    const ROUNDS: usize = 20_000;
    let outcomes: [AtomicUsize; 2] = Default::default();
    for round in 0..ROUNDS {
        let (tx, rx) = mpsc::sync_channel::<Waker>(4);
        let handle = task::spawn(async move {
            for _ in 0..2 {
                let mut first = true;
                std::future::poll_fn(|cx| {
                    if !std::mem::take(&mut first) {
                        return Poll::Ready(());
                    }
                    let _ = tx.try_send(cx.waker().clone());
                    Poll::Pending
                })
                .await;
            }
            round
        });
        let aborter = handle.abort_handle();
        std::thread::scope(|scope| {
            if round % 4 == 0 {
                scope.spawn(move || aborter.abort());
            }
            for waker in rx {
                waker.wake_by_ref();
                waker.wake();
            }
            match block_on(handle) {
                Ok(r) => {
                    assert_eq!(r, round);
                    outcomes[0].fetch_add(1, Ordering::Relaxed);
                }
                Err(error) => {
                    assert!(error.is_cancelled() && round % 4 == 0);
                    outcomes[1].fetch_add(1, Ordering::Relaxed);
                }
            }
        });
    }
    assert_eq!(outcomes[0].load(Ordering::Relaxed) + outcomes[1].load(Ordering::Relaxed), ROUNDS);
}
