//! Names become addresses.

use super::ToSocketAddrs;
use super::addrs::Place;
use crate::task::spawn_blocking;
use std::io;
use std::net::SocketAddr;

/// The addresses that `host` stands for. Names are looked up by the system, on a thread that may block.
///
/// # Errors
/// If the name is not known, or has no port.
///
/// ```
/// # heist::block_on(async {
/// let found = heist::net::lookup("localhost:80").await.unwrap();
/// assert!(found.iter().all(|addr| addr.port() == 80 && addr.ip().is_loopback()));
/// # });
/// ```
pub async fn lookup(host: impl ToSocketAddrs) -> io::Result<Vec<SocketAddr>> {
    resolve(host.place()).await
}

/// As [`lookup`], for what a caller has made of its argument: a future that does not keep the argument.
async fn resolve(place: Place) -> io::Result<Vec<SocketAddr>> {
    let blocking: Box<dyn FnOnce() -> io::Result<Vec<SocketAddr>> + Send> = match place {
        Place::At(addr) => return Ok(vec![addr]),
        Place::AtAny(addrs) => return Ok(addrs),
        Place::Named(name) => Box::new(move || by_system(&name, name.as_str())),
        Place::NamedAt(host, port) => Box::new(move || by_system(&host, (host.as_str(), port))),
    };
    match spawn_blocking(blocking).await {
        Ok(found) => found,
        Err(error) => Err(io::Error::other(error)),
    }
}

fn by_system(name: &str, place: impl std::net::ToSocketAddrs) -> io::Result<Vec<SocketAddr>> {
    match place.to_socket_addrs() {
        Ok(found) => Ok(found.collect()),
        // The system's own, with its number.
        Err(error) if error.raw_os_error().is_some() => Err(error),
        Err(error) => Err(io::Error::new(error.kind(), format!("{name:?} could not be looked up: {error}"))),
    }
}

/// Tries the addresses one after the other until one succeeds. The error is that of the last, as the system gave it: one with more
/// words would hide the system's number for it.
///
/// Not an `AsyncFnMut`: of one that borrows, the compiler does not see that its futures are `Send`.
pub(super) async fn first_of<T, F: Future<Output = io::Result<T>>>(
    host: impl ToSocketAddrs,
    mut attempt: impl FnMut(SocketAddr) -> F,
) -> io::Result<T> {
    let mut last = None;
    for addr in resolve(host.place()).await? {
        match attempt(addr).await {
            Ok(done) => return Ok(done),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "there is no address to try")))
}
