//! A connection within the machine.

use super::byte_stream::byte_stream;
use super::socket::Socket;
use crate::driver::readiness::Direction;
use std::io;
use std::os::unix::net::SocketAddr;
use std::path::Path;

/// A Unix stream. It implements futures-io's traits, and so does a reference to it: one task can read while another writes.
///
/// Of several tasks that read (or write) through those traits, only the one that was polled last is woken. Any number of them may
/// wait with [`read`](Self::read), [`write`](Self::write) and the other methods that are `async`.
///
/// ```
/// use heist::net::UnixStream;
/// # heist::block_on(async {
/// let (a, b) = UnixStream::pair()?;
/// a.write_all(b"hello").await?;
/// assert_eq!(b.read(&mut [0; 8]).await?, 5);
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
pub struct UnixStream {
    socket: Socket<mio::net::UnixStream>,
}

super::descriptor::descriptor!(UnixStream);

byte_stream!(UnixStream);

impl UnixStream {
    /// Connects to the socket that listens at `path`.
    ///
    /// # Errors
    /// What the system says. `WouldBlock` means that the listener's queue is full.
    ///
    /// ```
    /// # heist::block_on(async {
    /// let error = heist::net::UnixStream::connect("/no/such/path").await.unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    /// # });
    /// ```
    pub async fn connect(path: impl AsRef<Path>) -> io::Result<Self> {
        let socket = Socket::new(mio::net::UnixStream::connect(path)?)?;
        let is_connected = |io: &mio::net::UnixStream| match io.take_error()? {
            Some(error) => Err(error),
            None => match io.peer_addr() {
                Ok(_) => Ok(()),
                Err(error) if error.kind() == io::ErrorKind::NotConnected => {
                    Err(io::ErrorKind::WouldBlock.into())
                }
                Err(error) => Err(error),
            },
        };
        socket.attempt(Direction::Write, is_connected).await?;
        Ok(Self { socket })
    }

    /// Two that are connected to each other.
    ///
    /// # Errors
    /// What the system says, or if the reactor cannot be opened.
    ///
    /// ```
    /// let (a, b) = heist::net::UnixStream::pair().unwrap();
    /// ```
    pub fn pair() -> io::Result<(Self, Self)> {
        let (a, b) = mio::net::UnixStream::pair()?;
        Ok((Self::from_mio(a)?, Self::from_mio(b)?))
    }

    pub(super) fn from_mio(stream: mio::net::UnixStream) -> io::Result<Self> {
        Ok(Self { socket: Socket::new(stream)? })
    }

    /// Our end's address.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// ```
    /// let (a, _b) = heist::net::UnixStream::pair().unwrap();
    /// assert!(a.local_addr().unwrap().is_unnamed());
    /// assert!(a.peer_addr().unwrap().is_unnamed());
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

    /// Takes over a socket of the standard library, which from then on does not block.
    ///
    /// # Errors
    /// If the system does not allow that, or the reactor cannot be opened.
    ///
    /// ```
    /// let (stream, _other) = std::os::unix::net::UnixStream::pair().unwrap();
    /// let stream = heist::net::UnixStream::from_std(stream).unwrap();
    /// let stream: std::os::unix::net::UnixStream = stream.into_std();
    /// ```
    pub fn from_std(stream: std::os::unix::net::UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Self::from_mio(mio::net::UnixStream::from_std(stream))
    }

    /// The socket, as one of the standard library that does not block.
    ///
    /// See [`from_std`](Self::from_std) for an example.
    pub fn into_std(self) -> std::os::unix::net::UnixStream {
        self.socket.into_inner().into()
    }
}
