//! Timers and sockets of a pool that closes, is over, or is gone: what is over holds nobody up, and what comes late still works
//! or says why not.

use crate::rig::watchdog::watch;
use futures_io::AsyncRead;
use heist_async::net::UdpSocket;
#[cfg(unix)]
use heist_async::net::UnixStream;
use heist_async::time::{Sleep, sleep, timeout};
use heist_async::{block_on, block_on_in, task};
use heist_pool::raw::pool::{Config, Pool};
use heist_pool::raw::threads::ThreadStart;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};
use std::time::{Duration, Instant};

/// So far away that a test that waits for it does not end.
const FAR: Duration = Duration::from_secs(3600);
/// Long enough for a loaded machine, and much shorter than `FAR`.
const SOON: Duration = Duration::from_secs(20);

fn own_pool(threads: usize) -> Arc<Pool> {
    Config { parallelism: threads, ..Config::default() }
        .build(ThreadStart::spawn)
        .expect("threads can be started")
}

/// A pool without a thread of its own, and with none to be had.
fn threadless() -> Arc<Pool> {
    Pool::new(Config { parallelism: 1, foreign_threads: true, ..Config::default() })
}

/// Drops the last reference to the pool. The monitor may have one for a moment, while it looks.
fn drop_last(pool: Arc<Pool>) {
    let weak = Arc::downgrade(&pool);
    drop(pool);
    while weak.strong_count() > 0 {
        std::thread::yield_now();
    }
}

/// A sleep that is set in `pool`, by this thread.
fn set_in(pool: &Arc<Pool>, duration: Duration) -> Sleep {
    let mut set = sleep(duration);
    let is_pending = block_on_in(pool, poll_fn(|cx| Poll::Ready(Pin::new(&mut set).poll(cx).is_pending())));
    assert!(is_pending);
    set
}

/// Polls until the future is ready, and counts the polls.
fn polls_of(pool: &Arc<Pool>, mut future: impl Future<Output = ()> + Unpin) -> usize {
    let mut polls = 0;
    block_on_in(
        pool,
        poll_fn(|cx| {
            polls += 1;
            Pin::new(&mut future).poll(cx)
        }),
    );
    polls
}

#[test]
fn a_closed_pool_does_not_wait_for_a_timer_that_was_cancelled() {
    let _watch = watch!();
    for threads in [1, 2] {
        let pool = own_pool(threads);
        let done = task::spawn_in(&pool, timeout(FAR, sleep(Duration::from_millis(1))));
        assert!(block_on(done).unwrap().is_ok());
        pool.close();
        assert_eq!(pool.threads().join_within(SOON), 0, "{threads} threads");
    }
}

#[test]
fn a_timer_that_is_cancelled_while_its_closed_pool_waits_for_it_ends_the_wait() {
    let _watch = watch!();
    for threads in [1, 2] {
        let pool = own_pool(threads);
        let (first, last) = (set_in(&pool, FAR), set_in(&pool, FAR * 2));
        // The thread sleeps until the first, or is about to.
        pool.close();
        assert_eq!(pool.threads().join_within(Duration::from_millis(20)), threads, "a timer keeps the pool");
        drop(first);
        assert_eq!(pool.threads().join_within(Duration::from_millis(20)), threads, "one is left");
        drop(last);
        assert_eq!(pool.threads().join_within(SOON), 0, "{threads} threads");
    }
}

/// Also in a pool that cancels timers all the time.
#[test]
fn a_timer_that_is_live_keeps_a_closed_pool() {
    let _watch = watch!();
    let pool = own_pool(1);
    let begin = Instant::now();
    let (sender, receiver) = mpsc::channel();
    drop(task::spawn_in(&pool, async move {
        for _ in 0..10 {
            assert!(timeout(FAR, sleep(Duration::from_millis(2))).await.is_ok());
        }
        sender.send(()).unwrap();
    }));
    pool.close();
    assert_eq!(pool.threads().join_within(SOON), 0);
    assert!(begin.elapsed() >= Duration::from_millis(20));
    receiver.try_recv().expect("what was accepted has run");
}

#[test]
fn a_sleep_in_a_pool_that_is_over_fires_and_does_not_spin() {
    let _watch = watch!();
    let over = own_pool(1);
    over.close();
    over.threads().join();
    for pool in [over, threadless()] {
        pool.close();
        let begin = Instant::now();
        let polls = polls_of(&pool, sleep(Duration::from_millis(30)));
        assert!(begin.elapsed() >= Duration::from_millis(30));
        assert!(polls < 10, "{polls} polls");
        assert!(begin.elapsed() < SOON);
        assert_eq!(pool.threads().join_within(SOON), 0, "nobody comes for it");
    }
}

#[test]
fn a_pinned_future_sleeps_after_its_pool_is_over() {
    let _watch = watch!();
    let pool = own_pool(1);
    let (go, gone) = mpsc::channel();
    let slept = block_on_in(&pool, async {
        task::spawn_pinned(move || async move {
            gone.recv().unwrap();
            let begin = Instant::now();
            sleep(Duration::from_millis(5)).await;
            assert!(timeout(Duration::from_millis(5), std::future::pending::<()>()).await.is_err());
            begin.elapsed()
        })
    });
    pool.close();
    pool.threads().join();
    go.send(()).unwrap();
    assert!(block_on(slept.unwrap()).unwrap() >= Duration::from_millis(10));
}

/// Timers that are set while the pool comes to its end, in every moment of it: each goes to the pool or to the next one, and fires.
#[test]
fn timers_set_while_the_pool_ends_all_fire() {
    let _watch = watch!();
    for round in 0..200 {
        let pool = own_pool(1 + round % 2);
        let setter = std::thread::spawn({
            let pool = pool.clone();
            move || {
                block_on_in(&pool, async {
                    for _ in 0..20 {
                        sleep(Duration::from_micros(50)).await;
                    }
                });
            }
        });
        for _ in 0..round {
            std::hint::spin_loop();
        }
        pool.close();
        assert_eq!(pool.threads().join_within(SOON), 0, "round {round}");
        setter.join().unwrap();
    }
}

/// A waker that ends a pool when it is first cloned, and tells when it is woken.
struct EndsThePool {
    pool: Mutex<Option<Arc<Pool>>>,
    woken: mpsc::Sender<()>,
}

impl EndsThePool {
    const VTABLE: RawWakerVTable = RawWakerVTable::new(
        |data| {
            // SAFETY: from `waker`, and the waker that is cloned has a count.
            let this = unsafe { &*data.cast::<Self>() };
            let pool = this.pool.lock().unwrap().take();
            if let Some(pool) = pool {
                pool.close();
                pool.threads().join();
            }
            // SAFETY: as above.
            unsafe { Arc::increment_strong_count(data.cast::<Self>()) };
            RawWaker::new(data, &Self::VTABLE)
        },
        |data| {
            // SAFETY: the count of the waker that is used up.
            let this = unsafe { Arc::from_raw(data.cast::<Self>()) };
            let _ = this.woken.send(());
        },
        |data| {
            // SAFETY: as in the first.
            let _ = unsafe { &*data.cast::<Self>() }.woken.send(());
        },
        // SAFETY: the count of the waker that goes.
        |data| drop(unsafe { Arc::from_raw(data.cast::<Self>()) }),
    );

    fn waker(self) -> Waker {
        let data = Arc::into_raw(Arc::new(self)).cast();
        // SAFETY: the functions count as an `Arc` does, and what it holds may be shared.
        unsafe { Waker::from_raw(RawWaker::new(data, &Self::VTABLE)) }
    }
}

/// The worst moment: between the look at the pool and the timer.
#[test]
fn a_pool_that_ends_while_a_timer_is_being_set() {
    let _watch = watch!();
    let pool = own_pool(1);
    // Without it the pool has no driver yet.
    drop(set_in(&pool, FAR));
    let (woken, wakes) = mpsc::channel();
    let waker = EndsThePool { pool: Mutex::new(Some(pool.clone())), woken }.waker();
    let mut late = sleep(Duration::from_millis(5));
    let is_pending = block_on_in(
        &pool,
        poll_fn(|_| Poll::Ready(Pin::new(&mut late).poll(&mut Context::from_waker(&waker)).is_pending())),
    );
    assert!(is_pending);
    assert_eq!(pool.threads().join_within(Duration::ZERO), 0, "the pool is over");
    wakes.recv_timeout(SOON).expect("the timer fires all the same");
}

/// The task has outlived the threads of its pool; others come for it.
#[test]
fn a_task_that_is_woken_after_its_pool_is_over_sleeps() {
    let _watch = watch!();
    let pool = own_pool(1);
    let (waker, wakers) = mpsc::channel();
    let mut is_first = true;
    let slept = task::spawn_in(&pool, async move {
        poll_fn(|cx| {
            if std::mem::take(&mut is_first) {
                waker.send(cx.waker().clone()).unwrap();
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await;
        sleep(Duration::from_millis(5)).await;
    });
    let waker = wakers.recv().unwrap();
    pool.close();
    pool.threads().join();
    waker.wake();
    block_on(slept).unwrap();
    assert_eq!(pool.threads().join_within(SOON), 0, "they leave again");
}

/// A thread that belongs to a pool for good, as the one that built it with `use_current_thread`.
#[test]
fn a_guest_sleeps_after_its_pool_is_over() {
    let _watch = watch!();
    let slept = std::thread::spawn(|| {
        let pool = Config { parallelism: 2, use_current_thread: true, ..Config::default() }
            .build(ThreadStart::spawn)
            .expect("a thread can be started");
        pool.close();
        pool.threads().join();
        block_on(sleep(Duration::from_millis(5)));
        assert_eq!(pool.threads().join_within(SOON), 0);
    });
    slept.join().unwrap();
}

#[test]
fn a_socket_of_a_pool_that_is_over_works() {
    let _watch = watch!();
    let pool = own_pool(1);
    pool.close();
    pool.threads().join();
    block_on_in(&pool, async {
        let a = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let b = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let mut buf = [0; 8];
        assert!(timeout(Duration::from_millis(5), b.recv(&mut buf)).await.is_err());
        a.send_to(b"late", b.local_addr().unwrap()).await.unwrap();
        assert_eq!(b.recv(&mut buf).await.unwrap(), 4);
    });
    assert_eq!(pool.threads().join_within(SOON), 0, "nobody comes for it");
}

#[cfg(unix)]
#[test]
fn readable_and_writable_fail_when_the_pool_is_gone() {
    let _watch = watch!();
    let pool = threadless();
    let (socket, _other) = block_on_in(&pool, async { UnixStream::pair() }).unwrap();
    // Nothing to read, no room to write.
    assert!(socket.try_read(&mut [0]).is_err());
    while socket.try_write(&[0; 4096]).is_ok() {}
    drop_last(pool);
    block_on(async {
        for _ in 0..3 {
            for error in [socket.readable().await, socket.writable().await] {
                let error = error.expect_err("nobody will ever know");
                assert!(error.to_string().contains("pool"), "{error}");
            }
        }
    });
}

/// The poll functions leave a waker with the socket when their future is dropped. A task's waker keeps its pool, so a pool whose threads have left without a
/// further look at its sockets would never be freed.
#[cfg(unix)]
#[test]
fn a_socket_that_is_gone_keeps_no_waker() {
    struct Keeps;
    impl Wake for Keeps {
        fn wake(self: Arc<Self>) {}
    }

    let _watch = watch!();
    let pool = threadless();
    let (mut socket, _other) = block_on_in(&pool, async { UnixStream::pair() }).unwrap();
    let kept = Arc::new(Keeps);
    let waker = Waker::from(Arc::clone(&kept));
    let polled = AsyncRead::poll_read(Pin::new(&mut socket), &mut Context::from_waker(&waker), &mut [0]);
    assert!(polled.is_pending());
    drop(waker);
    assert_eq!(Arc::strong_count(&kept), 2, "it waits with the socket");
    drop(socket);
    assert_eq!(Arc::strong_count(&kept), 1);
    drop_last(pool);
}
