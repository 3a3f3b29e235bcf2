//! Waits for TCP connections.

use super::lookup::first_of;
use super::socket::Socket;
use super::{TcpStream, ToSocketAddrs, backlog};
use crate::driver::readiness::Direction;
use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll, ready};

/// A TCP socket that listens. Several tasks may accept at once.
///
/// ```
/// use heist::net::{TcpListener, TcpStream};
/// # heist::block_on(async {
/// let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
/// let client = TcpStream::connect(listener.local_addr()?).await?;
/// let (_server, peer) = listener.accept().await?;
/// assert_eq!(peer, client.local_addr()?);
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
pub struct TcpListener {
    socket: Socket<mio::net::TcpListener>,
}

#[cfg(unix)]
super::descriptor::descriptor!(TcpListener);

impl TcpListener {
    /// Listens on the first address that can be had. Port 0 means any free one.
    ///
    /// # Errors
    /// If none can be had; the error is what the system says of the last.
    ///
    /// ```
    /// # heist::block_on(async {
    /// let listener = heist::net::TcpListener::bind("127.0.0.1:0").await?;
    /// assert_ne!(listener.local_addr()?.port(), 0);
    /// # std::io::Result::Ok(())
    /// # }).unwrap();
    /// ```
    pub async fn bind(addrs: impl ToSocketAddrs) -> io::Result<Self> {
        first_of(addrs, async |addr| {
            let listener = mio::net::TcpListener::bind(addr)?;
            backlog::raise(&listener);
            Ok(Self { socket: Socket::new(listener)? })
        })
        .await
    }

    /// Waits for the next connection.
    ///
    /// # Errors
    /// What the system says. When the process has too many open files, the connection stays queued and the next call
    /// tries again at once: wait a little, or close something, before that.
    ///
    /// ```
    /// # use heist::net::TcpListener;
    /// async fn serve(listener: &TcpListener) -> std::io::Result<()> {
    ///     loop {
    ///         let (stream, peer) = listener.accept().await?;
    ///         println!("{peer} has connected");
    ///         drop(stream);
    ///     }
    /// }
    /// ```
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let (stream, peer) = self
            .socket
            .attempt(Direction::Read, |listener: &mio::net::TcpListener| listener.accept())
            .await?;
        Ok((TcpStream::from_mio(stream)?, peer))
    }

    /// As [`accept`](Self::accept), for use in a poll function. Of several tasks that wait in this one, the last to call it is woken.
    ///
    /// # Errors
    /// As [`accept`](Self::accept).
    ///
    /// ```
    /// # use heist::net::{TcpListener, TcpStream};
    /// # use std::task::{Context, Poll};
    /// fn poll_next(listener: &TcpListener, cx: &mut Context<'_>) -> Poll<std::io::Result<TcpStream>> {
    ///     listener.poll_accept(cx).map_ok(|(stream, _)| stream)
    /// }
    /// ```
    pub fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        let (stream, peer) = ready!(self.socket.poll(Direction::Read, cx, |listener| listener.accept()))?;
        Poll::Ready(TcpStream::from_mio(stream).map(|stream| (stream, peer)))
    }

    /// The address it listens on.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// ```
    /// # heist::block_on(async {
    /// let listener = heist::net::TcpListener::bind("127.0.0.1:0").await?;
    /// assert!(listener.local_addr()?.ip().is_loopback());
    /// # std::io::Result::Ok(())
    /// # }).unwrap();
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// The time to live of packets from accepted connections.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// ```
    /// # heist::block_on(async {
    /// let listener = heist::net::TcpListener::bind("127.0.0.1:0").await?;
    /// listener.set_ttl(33)?;
    /// assert_eq!(listener.ttl()?, 33);
    /// # std::io::Result::Ok(())
    /// # }).unwrap();
    /// ```
    pub fn ttl(&self) -> io::Result<u32> {
        self.socket.ttl()
    }

    /// Sets what [`ttl`](Self::ttl) returns.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// See [`ttl`](Self::ttl) for an example.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.socket.set_ttl(ttl)
    }

    /// Takes over a socket of the standard library, which from then on does not block.
    ///
    /// # Errors
    /// If the system does not allow that, or the reactor cannot be opened.
    ///
    /// ```
    /// let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    /// let listener = heist::net::TcpListener::from_std(listener).unwrap();
    /// let listener: std::net::TcpListener = listener.into_std();
    /// ```
    pub fn from_std(listener: std::net::TcpListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self { socket: Socket::new(mio::net::TcpListener::from_std(listener))? })
    }

    /// The socket, as one of the standard library that does not block.
    ///
    /// See [`from_std`](Self::from_std) for an example.
    pub fn into_std(self) -> std::net::TcpListener {
        self.socket.into_inner().into()
    }
}
