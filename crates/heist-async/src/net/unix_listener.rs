//! Waits for connections to a path.

use super::socket::Socket;
use super::{UnixStream, backlog};
use crate::driver::readiness::Direction;
use std::io;
use std::os::unix::net::SocketAddr;
use std::path::Path;
use std::task::{Context, Poll, ready};

/// A Unix socket that listens. Several tasks may accept at once. The path stays when it is dropped.
///
/// ```
/// use heist::net::{UnixListener, UnixStream};
/// # heist::block_on(async {
/// let path = std::env::temp_dir().join(format!("heist-doc-{}", std::process::id()));
/// let listener = UnixListener::bind(&path)?;
/// let client = UnixStream::connect(&path).await?;
/// let (_server, _) = listener.accept().await?;
/// std::fs::remove_file(path)?;
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
pub struct UnixListener {
    socket: Socket<mio::net::UnixListener>,
}

super::descriptor::descriptor!(UnixListener);

impl UnixListener {
    /// Listens at `path`, which must not exist.
    ///
    /// # Errors
    /// What the system says, or if the reactor cannot be opened.
    ///
    /// ```
    /// let error = heist::net::UnixListener::bind("/").unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
    /// ```
    pub fn bind(path: impl AsRef<Path>) -> io::Result<Self> {
        let listener = mio::net::UnixListener::bind(path)?;
        backlog::raise(&listener);
        Ok(Self { socket: Socket::new(listener)? })
    }

    /// Waits for the next connection.
    ///
    /// # Errors
    /// What the system says. When the process has too many open files, the connection stays queued and the next call
    /// tries again at once: wait a little, or close something, before that.
    ///
    /// ```
    /// # use heist::net::UnixListener;
    /// async fn serve(listener: &UnixListener) -> std::io::Result<()> {
    ///     loop {
    ///         let (stream, _) = listener.accept().await?;
    ///         drop(stream);
    ///     }
    /// }
    /// ```
    pub async fn accept(&self) -> io::Result<(UnixStream, SocketAddr)> {
        let (stream, peer) = self
            .socket
            .attempt(Direction::Read, |listener: &mio::net::UnixListener| listener.accept())
            .await?;
        Ok((UnixStream::from_mio(stream)?, peer))
    }

    /// As [`accept`](Self::accept), for use in a poll function. Of several tasks that wait in this one, the last to call it is woken.
    ///
    /// # Errors
    /// As [`accept`](Self::accept).
    ///
    /// ```
    /// # use heist::net::{UnixListener, UnixStream};
    /// # use std::task::{Context, Poll};
    /// fn poll_next(listener: &UnixListener, cx: &mut Context<'_>) -> Poll<std::io::Result<UnixStream>> {
    ///     listener.poll_accept(cx).map_ok(|(stream, _)| stream)
    /// }
    /// ```
    pub fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(UnixStream, SocketAddr)>> {
        let (stream, peer) = ready!(self.socket.poll(Direction::Read, cx, |listener| listener.accept()))?;
        Poll::Ready(UnixStream::from_mio(stream).map(|stream| (stream, peer)))
    }

    /// The path it listens at.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// ```
    /// # use heist::net::UnixListener;
    /// fn has_path(listener: &UnixListener) -> bool {
    ///     listener.local_addr().is_ok_and(|addr| addr.as_pathname().is_some())
    /// }
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Takes over a socket of the standard library, which from then on does not block.
    ///
    /// # Errors
    /// If the system does not allow that, or the reactor cannot be opened.
    ///
    /// ```
    /// # use heist::net::UnixListener;
    /// fn back_and_forth(listener: std::os::unix::net::UnixListener) -> std::io::Result<()> {
    ///     let listener = UnixListener::from_std(listener)?;
    ///     let _: std::os::unix::net::UnixListener = listener.into_std();
    ///     Ok(())
    /// }
    /// ```
    pub fn from_std(listener: std::os::unix::net::UnixListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self { socket: Socket::new(mio::net::UnixListener::from_std(listener))? })
    }

    /// The socket, as one of the standard library that does not block.
    ///
    /// See [`from_std`](Self::from_std) for an example.
    pub fn into_std(self) -> std::os::unix::net::UnixListener {
        self.socket.into_inner().into()
    }
}
