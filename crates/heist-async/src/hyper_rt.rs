//! hyper on heist: its executor, timer and streams. Needs the feature `hyper`.
//!
//! ```no_run
//! use heist::hyper_rt::{HeistIo, HeistTimer};
//! use heist::net::TcpListener;
//! use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
//!
//! async fn hello(_: Request<Incoming>) -> Result<Response<String>, std::convert::Infallible> {
//!     Ok(Response::new("hello".to_owned()))
//! }
//!
//! async fn serve() -> std::io::Result<()> {
//!     let listener = TcpListener::bind("127.0.0.1:8080").await?;
//!     loop {
//!         let (stream, _) = listener.accept().await?;
//!         heist::task::spawn(async move {
//!             let mut http = http1::Builder::new();
//!             let _ = http.timer(HeistTimer).serve_connection(HeistIo::new(stream), service_fn(hello)).await;
//!         });
//!     }
//! }
//! ```

use crate::{task, time};
use futures_io::{AsyncRead, AsyncWrite};
use hyper::rt::{Executor, Read, ReadBufCursor, Timer, Write};
use std::cell::Cell;
use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

/// Runs what hyper spawns as tasks.
///
/// ```
/// use hyper::rt::Executor;
/// heist::hyper_rt::HeistExecutor.execute(async {});
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct HeistExecutor;

impl<F> Executor<F> for HeistExecutor
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, future: F) {
        drop(task::spawn(future));
    }
}

/// hyper's time-outs, by heist's timers.
///
/// ```
/// use hyper::rt::Timer;
/// use std::time::Duration;
/// heist::block_on(heist::hyper_rt::HeistTimer.sleep(Duration::from_millis(1)));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct HeistTimer;

struct Sleep(time::Sleep);

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.0).poll(cx)
    }
}

impl hyper::rt::Sleep for Sleep {}

impl Timer for HeistTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn hyper::rt::Sleep>> {
        Box::pin(Sleep(time::sleep(duration)))
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn hyper::rt::Sleep>> {
        Box::pin(Sleep(time::sleep_until(deadline)))
    }

    fn reset(&self, sleep: &mut Pin<Box<dyn hyper::rt::Sleep>>, deadline: Instant) {
        match sleep.as_mut().downcast_mut_pin::<Sleep>() {
            Some(ours) => ours.get_mut().0.reset(deadline),
            None => *sleep = self.sleep_until(deadline),
        }
    }
}

/// A stream with futures-io's traits, for hyper.
///
/// ```
/// # async fn connect() -> std::io::Result<()> {
/// let stream = heist::net::TcpStream::connect("127.0.0.1:80").await?;
/// let io = heist::hyper_rt::HeistIo::new(stream);
/// # drop(io);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct HeistIo<T> {
    inner: T,
}

/// A read asks for at most so much.
const MOST_READ: usize = 16 << 10;

std::thread_local! {
    /// Where a thread reads to, before it copies what came to hyper's buffer. That one is not initialised, and filling it with
    /// zeros each time costs more than copying a request.
    static SCRATCH: Cell<Option<Box<[u8]>>> = const { Cell::new(None) };
}

impl<T> HeistIo<T> {
    /// Wraps a stream.
    ///
    /// ```
    /// # use heist::{hyper_rt::HeistIo, net::{TcpListener, TcpStream}};
    /// # heist::block_on(async {
    /// let listener = TcpListener::bind("127.0.0.1:0").await?;
    /// let io = HeistIo::new(TcpStream::connect(listener.local_addr()?).await?);
    /// io.inner().set_nodelay(true)?;
    /// let stream: TcpStream = io.into_inner();
    /// assert!(stream.nodelay()?);
    /// # std::io::Result::Ok(())
    /// # }).unwrap();
    /// ```
    pub fn new(inner: T) -> Self {
        Self { inner }
    }

    /// The stream.
    ///
    /// See [`new`](Self::new) for an example.
    pub fn inner(&self) -> &T {
        &self.inner
    }

    /// The stream, by itself again.
    ///
    /// See [`new`](Self::new) for an example.
    pub fn into_inner(self) -> T {
        self.inner
    }
}

impl<T: AsyncRead + Unpin> Read for HeistIo<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        // Somebody else has it if a stream reads from a stream.
        let mut scratch = SCRATCH.take().unwrap_or_else(|| vec![0; MOST_READ].into_boxed_slice());
        let len = buf.remaining().min(MOST_READ);
        let polled = Pin::new(&mut self.inner).poll_read(cx, &mut scratch[..len]);
        if let Poll::Ready(Ok(count)) = &polled {
            buf.put_slice(&scratch[..*count]);
        }
        SCRATCH.set(Some(scratch));
        ready!(polled)?;
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> Write for HeistIo<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_close(cx)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(cx, bufs)
    }
}
