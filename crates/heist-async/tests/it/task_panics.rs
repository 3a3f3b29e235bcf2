//! Panics of foreign code where no task's poll is around it: outputs that nobody wants and whose drop panics, wakers that panic
//! when they are woken or dropped. Each costs nobody else anything, and arrives at the pool's panic handler or is told by the
//! panic hook.

use crate::rig::watchdog::watch;
use futures_io::AsyncRead;
use heist_async::net::{TcpListener, TcpStream};
use heist_async::task::{self, JoinHandle};
use heist_async::time::sleep;
use heist_async::{block_on, block_on_in};
use heist_pool::raw::job::Payload;
use heist_pool::raw::pool::{Config, Pool};
use heist_pool::raw::threads::ThreadStart;
use std::future::{Future, poll_fn};
use std::panic::resume_unwind;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// A pool with one worker, and the panics that it delivers.
fn pool() -> (Arc<Pool>, mpsc::Receiver<Payload>) {
    let (send, delivered) = mpsc::channel();
    let send = Mutex::new(send);
    let panic_handler = Box::new(move |payload| send.lock().unwrap().send(payload).unwrap());
    let config = Config { parallelism: 1, panic_handler: Some(panic_handler), ..Config::default() };
    (config.build(ThreadStart::spawn).expect("a thread can be started"), delivered)
}

/// Calls `f` on this thread, as if inside of the pool.
fn within<R>(pool: &Arc<Pool>, f: impl FnOnce() -> R) -> R {
    let mut f = Some(f);
    block_on_in(pool, poll_fn(|_| Poll::Ready(f.take().expect("one poll")())))
}

/// The next panic that the pool delivers is this one, and the pool goes on.
fn expect(what: &'static str, pool: &Arc<Pool>, delivered: &mpsc::Receiver<Payload>) {
    assert_eq!(delivered.recv().unwrap().downcast_ref(), Some(&what));
    assert_eq!(block_on_in(pool, task::compute(|| 8)), 8);
    assert_eq!(block_on(task::spawn_in(pool, async { 9 })).unwrap(), 9);
}

struct Output;

impl Drop for Output {
    fn drop(&mut self) {
        resume_unwind(Box::new("drop of the output"));
    }
}

struct PanicsWhenWoken;

impl Wake for PanicsWhenWoken {
    fn wake(self: Arc<Self>) {
        resume_unwind(Box::new("waker"));
    }
}

struct PanicsWhenDropped(Arc<AtomicUsize>);

impl Wake for PanicsWhenDropped {
    fn wake(self: Arc<Self>) {}
}

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        resume_unwind(Box::new("drop of the waker"));
    }
}

/// Work that says that it has begun and ends when it may, with an output.
struct Work {
    begun: mpsc::Receiver<()>,
    may_end: mpsc::Sender<()>,
}

impl Work {
    fn new<R>(output: R) -> (Self, impl FnOnce() -> R) {
        let (begin, begun) = mpsc::channel();
        let (may_end, ends) = mpsc::channel();
        let work = move || {
            begin.send(()).unwrap();
            ends.recv().unwrap();
            output
        };
        (Self { begun, may_end }, work)
    }

    fn has_begun(&self) {
        self.begun.recv().unwrap();
    }

    fn end(self) {
        self.may_end.send(()).unwrap();
    }
}

fn cancel<T>(handle: JoinHandle<T>) {
    handle.abort();
    assert!(block_on(handle).is_err_and(|error| error.is_cancelled()));
}

#[test]
fn an_unwanted_result_of_compute() {
    let _watch = watch!();
    let (pool, delivered) = pool();
    let (work, f) = Work::new(Output);
    drop(within(&pool, || task::compute(f)));
    work.has_begun();
    work.end();
    expect("drop of the output", &pool, &delivered);
    pool.close();
}

#[test]
fn an_unwanted_result_of_a_pinned_future() {
    let _watch = watch!();
    let (pool, delivered) = pool();
    let (work, f) = Work::new(Output);
    let handle = within(&pool, || task::spawn_pinned(|| async { f() })).unwrap();
    work.has_begun();
    cancel(handle);
    work.end();
    expect("drop of the output", &pool, &delivered);
    pool.close();
}

/// More often than there may be threads for blocking calls: none of them is lost.
#[test]
fn unwanted_results_of_blocking_calls() {
    let _watch = watch!();
    let (pool, delivered) = pool();
    for _ in 0..600 {
        let (work, f) = Work::new(Output);
        let handle = within(&pool, || task::spawn_blocking(f));
        work.has_begun();
        cancel(handle);
        work.end();
        expect("drop of the output", &pool, &delivered);
    }
    assert!(task::blocking_threads() < 100, "{} threads", task::blocking_threads());
    pool.close();
}

/// Awaited with a waker that panics, and then again.
fn wakes_a_bad_waker<F: Future>(future: F, work: Work, delivered: &mpsc::Receiver<Payload>) -> F::Output {
    let mut future = pin!(future);
    work.has_begun();
    let waker = Waker::from(Arc::new(PanicsWhenWoken));
    assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    work.end();
    assert_eq!(delivered.recv().unwrap().downcast_ref(), Some(&"waker"));
    block_on(future)
}

#[test]
fn a_waker_that_panics() {
    let _watch = watch!();
    let (pool, delivered) = pool();
    let (work, f) = Work::new(7);
    let compute = within(&pool, || task::compute(f));
    assert_eq!(wakes_a_bad_waker(compute, work, &delivered), 7);
    let (work, f) = Work::new(7);
    let blocking = within(&pool, || task::spawn_blocking(f));
    assert_eq!(wakes_a_bad_waker(blocking, work, &delivered).unwrap(), 7);
    let (work, f) = Work::new(7);
    let pinned = within(&pool, || task::spawn_pinned(|| async { f() })).unwrap();
    assert_eq!(wakes_a_bad_waker(pinned, work, &delivered).unwrap(), 7);
    assert_eq!(block_on(task::spawn_in(&pool, async { 9 })).unwrap(), 9);
    pool.close();
}

/// Sockets that go with wakers on them, which are freed by whoever looks after the sockets.
#[test]
fn wakers_that_panic_when_they_are_dropped_with_a_socket() {
    let _watch = watch!();
    let (pool, _) = pool();
    let dropped = Arc::new(AtomicUsize::new(0));
    // The one that stays on the socket is the last.
    let leave = |poll: &mut dyn FnMut(&mut Context<'_>) -> bool| {
        let waker = Waker::from(Arc::new(PanicsWhenDropped(dropped.clone())));
        assert!(poll(&mut Context::from_waker(&waker)));
    };
    block_on_in(&pool, async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let server = listener.accept().await.unwrap();
        leave(&mut |cx| listener.poll_accept(cx).is_pending());
        leave(&mut |cx| Pin::new(&mut client).poll_read(cx, &mut [0]).is_pending());
        assert_eq!(dropped.load(Ordering::Relaxed), 0);
        drop((listener, client));
        while dropped.load(Ordering::Relaxed) < 2 {
            sleep(Duration::from_millis(1)).await;
        }
        drop(server);
    });
    assert_eq!(block_on(task::spawn_in(&pool, async { 9 })).unwrap(), 9);
    pool.close();
}
