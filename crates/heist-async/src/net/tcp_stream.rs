//! A TCP connection.

use super::ToSocketAddrs;
use super::byte_stream::byte_stream;
use super::lookup::first_of;
use super::socket::Socket;
use crate::driver::readiness::Direction;
use std::io;
use std::net::SocketAddr;
#[cfg(unix)]
use std::time::Duration;

/// A TCP connection. It implements futures-io's traits, and so does a reference to it: one task can read while another writes.
///
/// Of several tasks that read (or write) through those traits, only the one that was polled last is woken. Any number of them may
/// wait with [`read`](Self::read), [`write`](Self::write) and the other methods that are `async`.
///
/// ```
/// use heist::net::{TcpListener, TcpStream};
/// # heist::block_on(async {
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let stream = TcpStream::connect(listener.local_addr()?).await?;
/// stream.set_nodelay(true)?;
/// stream.write_all(b"hello").await?;
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
pub struct TcpStream {
    socket: Socket<mio::net::TcpStream>,
}

#[cfg(unix)]
super::descriptor::descriptor!(TcpStream);

byte_stream!(TcpStream);

impl TcpStream {
    /// Connects to the first address that answers.
    ///
    /// # Errors
    /// If none does; the error is what the system says of the last.
    ///
    /// ```
    /// # heist::block_on(async {
    /// let error = heist::net::TcpStream::connect("127.0.0.1:1").await.unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
    /// # });
    /// ```
    pub async fn connect(addrs: impl ToSocketAddrs) -> io::Result<Self> {
        first_of(addrs, Self::connect_to).await
    }

    async fn connect_to(addr: SocketAddr) -> io::Result<Self> {
        let socket = Socket::connecting(mio::net::TcpStream::connect(addr)?)?;
        let is_connected = |io: &mio::net::TcpStream| match io.take_error()? {
            Some(error) => Err(error),
            None => match io.peer_addr() {
                Ok(_) => Ok(()),
                // An event that was not about this.
                Err(error) if error.kind() == io::ErrorKind::NotConnected => {
                    Err(io::ErrorKind::WouldBlock.into())
                }
                Err(error) => Err(error),
            },
        };
        socket.attempt(Direction::Write, is_connected).await?;
        Ok(Self { socket })
    }

    pub(super) fn from_mio(stream: mio::net::TcpStream) -> io::Result<Self> {
        Ok(Self { socket: Socket::new(stream)? })
    }

    /// Reads without taking: the next read finds the same bytes.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// ```
    /// # use heist::net::TcpStream;
    /// async fn is_over(stream: &TcpStream) -> std::io::Result<bool> {
    ///     Ok(stream.peek(&mut [0]).await? == 0)
    /// }
    /// ```
    pub async fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.socket.attempt(Direction::Read, |io: &mio::net::TcpStream| io.peek(buf)).await
    }

    /// Our end's address.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// ```
    /// # use heist::net::TcpStream;
    /// fn is_local(stream: &TcpStream) -> std::io::Result<bool> {
    ///     Ok(stream.local_addr()?.ip() == stream.peer_addr()?.ip())
    /// }
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// The other end's address.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// See [`local_addr`](Self::local_addr) for an example.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.socket.peer_addr()
    }

    /// Whether small writes are sent at once (`TCP_NODELAY`).
    ///
    /// # Errors
    /// What the system says.
    ///
    /// ```
    /// # use heist::net::TcpStream;
    /// fn hurry(stream: &TcpStream) -> std::io::Result<()> {
    ///     stream.set_nodelay(true)?;
    ///     assert!(stream.nodelay()?);
    ///     Ok(())
    /// }
    /// ```
    pub fn nodelay(&self) -> io::Result<bool> {
        self.socket.nodelay()
    }

    /// Decides whether small writes are sent at once.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// See [`nodelay`](Self::nodelay) for an example.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.socket.set_nodelay(nodelay)
    }

    /// For how long dropping the stream waits until what was written has arrived (`SO_LINGER`).
    ///
    /// # Errors
    /// What the system says.
    ///
    /// ```
    /// use heist::net::{TcpListener, TcpStream};
    /// use std::time::Duration;
    /// # heist::block_on(async {
    /// let listener = TcpListener::bind("127.0.0.1:0").await?;
    /// let stream = TcpStream::connect(listener.local_addr()?).await?;
    /// assert_eq!(stream.linger()?, None);
    /// stream.set_linger(Some(Duration::ZERO))?;
    /// assert_eq!(stream.linger()?, Some(Duration::ZERO));
    /// # std::io::Result::Ok(())
    /// # }).unwrap();
    /// ```
    #[cfg(unix)]
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        super::linger::get(self)
    }

    /// Sets what [`linger`](Self::linger) returns, in whole seconds. With `None` the system sends the rest on its own. With zero
    /// the rest is thrown away and the peer sees a reset. With anything else dropping the stream may block its thread for
    /// so long.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// See [`linger`](Self::linger) for an example.
    #[cfg(unix)]
    pub fn set_linger(&self, linger: Option<Duration>) -> io::Result<()> {
        super::linger::set(self, linger)
    }

    /// The time to live of packets.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// ```
    /// # use heist::net::TcpStream;
    /// fn stay_near(stream: &TcpStream) -> std::io::Result<()> {
    ///     stream.set_ttl(1)?;
    ///     assert_eq!(stream.ttl()?, 1);
    ///     Ok(())
    /// }
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
    /// let stream = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    /// let stream = heist::net::TcpStream::from_std(stream).unwrap();
    /// let stream: std::net::TcpStream = stream.into_std();
    /// ```
    pub fn from_std(stream: std::net::TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Self::from_mio(mio::net::TcpStream::from_std(stream))
    }

    /// The socket, as one of the standard library that does not block.
    ///
    /// See [`from_std`](Self::from_std) for an example.
    pub fn into_std(self) -> std::net::TcpStream {
        self.socket.into_inner().into()
    }
}
