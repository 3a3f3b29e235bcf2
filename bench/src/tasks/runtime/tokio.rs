//! tokio's multi-threaded runtime.

use std::fmt::Debug;
use std::future::Future;
use std::io;
use std::net;
use std::pin::Pin;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::{Runtime, Stream, WORKERS};

pub struct Tokio;

fn runtime() -> &'static tokio::runtime::Runtime {
    static RUNTIME: OnceLock<tokio::runtime::Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(WORKERS)
            .enable_all()
            .build()
            .expect("tokio starts its threads")
    })
}

impl Runtime for Tokio {
    type Sleep = tokio::time::Sleep;
    type Listener = TcpListener;
    type Stream = TcpStream;

    fn block_on<F: Future>(future: F) -> F::Output {
        runtime().block_on(future)
    }

    #[inline(always)]
    fn spawn<F>(future: F) -> impl Future<Output = Result<F::Output, impl Debug>> + Send + 'static
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        tokio::spawn(future)
    }

    #[inline(always)]
    fn spawn_from_outside<F>(
        future: F,
    ) -> impl Future<Output = Result<F::Output, impl Debug>> + Send + 'static
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        runtime().spawn(future)
    }

    #[inline(always)]
    fn yield_now() -> impl Future<Output = ()> + Send {
        tokio::task::yield_now()
    }

    #[inline(always)]
    fn sleep(time: Duration) -> Self::Sleep {
        tokio::time::sleep(time)
    }

    #[inline(always)]
    fn sleep_until(deadline: Instant) -> Self::Sleep {
        tokio::time::sleep_until(deadline.into())
    }

    #[inline(always)]
    fn reset(sleep: Pin<&mut Self::Sleep>, deadline: Instant) {
        sleep.reset(deadline.into());
    }

    #[inline(always)]
    async fn timeout<F: Future + Send>(limit: Duration, future: F) -> Option<F::Output> {
        tokio::time::timeout(limit, future).await.ok()
    }

    fn listener(listener: net::TcpListener) -> io::Result<TcpListener> {
        listener.set_nonblocking(true)?;
        TcpListener::from_std(listener)
    }

    async fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
        listener.accept().await.map(|(stream, _)| stream)
    }
}

impl Stream for TcpStream {
    #[inline(always)]
    async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        AsyncReadExt::read(self, buffer).await
    }

    #[inline(always)]
    async fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        AsyncWriteExt::write_all(self, bytes).await
    }

    fn set_nodelay(&self) -> io::Result<()> {
        TcpStream::set_nodelay(self, true)
    }
}
