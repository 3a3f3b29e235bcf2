//! heist's global pool, as programs have it.

use std::fmt::Debug;
use std::future::Future;
use std::io;
use std::net;
use std::pin::Pin;
use std::sync::Once;
use std::time::{Duration, Instant};

use futures_lite::{AsyncReadExt, AsyncWriteExt};
use heist::net::{TcpListener, TcpStream};

use super::{Runtime, Stream, WORKERS};

pub struct Heist;

impl Heist {
    /// The global pool starts by itself; only the number of its workers has to be said first.
    pub fn ready() {
        static READY: Once = Once::new();
        READY.call_once(|| {
            let pool = heist::ThreadPoolBuilder::new().num_threads(WORKERS);
            pool.build_global().expect("nothing has used the global pool before");
        });
    }
}

impl Runtime for Heist {
    type Sleep = heist::time::Sleep;
    type Listener = TcpListener;
    type Stream = TcpStream;

    fn block_on<F: Future>(future: F) -> F::Output {
        Heist::ready();
        heist::block_on(future)
    }

    #[inline(always)]
    fn spawn<F>(future: F) -> impl Future<Output = Result<F::Output, impl Debug>> + Send + 'static
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        heist::task::spawn(future)
    }

    #[inline(always)]
    fn spawn_from_outside<F>(
        future: F,
    ) -> impl Future<Output = Result<F::Output, impl Debug>> + Send + 'static
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        Heist::ready();
        heist::task::spawn(future)
    }

    #[inline(always)]
    fn yield_now() -> impl Future<Output = ()> + Send {
        heist::task::yield_now()
    }

    #[inline(always)]
    fn sleep(time: Duration) -> Self::Sleep {
        heist::time::sleep(time)
    }

    #[inline(always)]
    fn sleep_until(deadline: Instant) -> Self::Sleep {
        heist::time::sleep_until(deadline)
    }

    #[inline(always)]
    fn reset(mut sleep: Pin<&mut Self::Sleep>, deadline: Instant) {
        sleep.reset(deadline);
    }

    #[inline(always)]
    async fn timeout<F: Future + Send>(limit: Duration, future: F) -> Option<F::Output> {
        heist::time::timeout(limit, future).await.ok()
    }

    fn listener(listener: net::TcpListener) -> io::Result<TcpListener> {
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
