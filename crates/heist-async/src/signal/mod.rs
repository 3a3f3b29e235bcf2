//! Signals of the system: Ctrl-C, and on Unix all others that a program may catch. Feature `signal`.
//!
//! A signal comes as a byte on a socket, so whoever waits for one waits as for any socket: on the pool's driver, without a thread.
//!
//! ```no_run
//! use heist::time::{Duration, timeout};
//!
//! async fn finish_requests() {}
//!
//! fn main() -> std::io::Result<()> {
//!     heist::block_on(async {
//!         heist::signal::ctrl_c().await?;
//!         // What is left has ten seconds.
//!         let _ = timeout(Duration::from_secs(10), finish_requests()).await;
//!         Ok(())
//!     })
//! }
//! ```
//!
//! What a signal did by default (Ctrl-C ends the process) it does no more from the first call for it on, for the rest of the
//! process's life, also while nobody waits.

pub mod unix;

use std::io;

/// Waits for the next Ctrl-C (`SIGINT`).
///
/// It is caught from this call on, not from the first poll: none is missed between two statements. In a loop, one
/// [`unix::signal`] that lives outside of it misses none either.
///
/// # Errors
/// If the system refuses the handler or a socket.
///
/// ```no_run
/// # fn main() -> std::io::Result<()> {
/// heist::block_on(heist::signal::ctrl_c())?;
/// println!("stopping");
/// # Ok(())
/// # }
/// ```
pub fn ctrl_c() -> impl Future<Output = io::Result<()>> + Send + 'static {
    let signal = unix::signal(unix::SignalKind::interrupt());
    async move { signal?.recv().await }
}
