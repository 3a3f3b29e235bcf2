//! What a row asks of a runtime, so that it is written once and runs on each.

#[cfg(feature = "heist")]
mod heist;
mod tokio;

#[cfg(feature = "heist")]
pub use heist::Heist;
pub use tokio::Tokio;

use std::fmt::Debug;
use std::future::Future;
use std::io;
use std::net;
use std::pin::Pin;
use std::time::{Duration, Instant};

/// Of either runtime.
pub const WORKERS: usize = 2;

/// A multi-threaded runtime with [`WORKERS`] workers that starts on first use and stays.
pub trait Runtime: Send + Sync + 'static {
    type Sleep: Future<Output = ()> + Send + 'static;
    type Listener: Send + Sync + 'static;
    type Stream: Stream;

    /// Polls `future` on the calling thread, which is none of the workers.
    fn block_on<F: Future>(future: F) -> F::Output;

    /// Spawns from a task, or from inside of `block_on`.
    fn spawn<F>(future: F) -> impl Future<Output = Result<F::Output, impl Debug>> + Send + 'static
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static;

    /// Spawns from a thread that the runtime does not know.
    fn spawn_from_outside<F>(
        future: F,
    ) -> impl Future<Output = Result<F::Output, impl Debug>> + Send + 'static
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static;

    fn yield_now() -> impl Future<Output = ()> + Send;

    fn sleep(time: Duration) -> Self::Sleep;

    fn sleep_until(deadline: Instant) -> Self::Sleep;

    fn reset(sleep: Pin<&mut Self::Sleep>, deadline: Instant);

    /// None if the time was over first.
    fn timeout<F: Future + Send>(
        limit: Duration,
        future: F,
    ) -> impl Future<Output = Option<F::Output>> + Send;

    /// Takes over a listener; to be called inside of the runtime.
    fn listener(listener: net::TcpListener) -> io::Result<Self::Listener>;

    fn accept(listener: &Self::Listener) -> impl Future<Output = io::Result<Self::Stream>> + Send;
}

/// A connection.
pub trait Stream: Send + 'static {
    fn read(&mut self, buffer: &mut [u8]) -> impl Future<Output = io::Result<usize>> + Send;
    fn write_all(&mut self, bytes: &[u8]) -> impl Future<Output = io::Result<()>> + Send;
    fn set_nodelay(&self) -> io::Result<()>;
}
