//! Datagrams.

use super::ToSocketAddrs;
use super::lookup::first_of;
use super::socket::Socket;
use crate::driver::readiness::Direction;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::task::{Context, Poll};

/// A UDP socket. All methods take a shared reference: several tasks may send and receive at once. Only of those that wait in
/// functions whose names begin with `poll_`, for the same direction, the one that was polled last is woken.
///
/// ```
/// use heist::net::UdpSocket;
/// # heist::block_on(async {
/// let (a, b) = (UdpSocket::bind("127.0.0.1:0").await?, UdpSocket::bind("127.0.0.1:0").await?);
/// a.send_to(b"hello", b.local_addr()?).await?;
/// let mut buf = [0; 16];
/// let (count, from) = b.recv_from(&mut buf).await?;
/// assert_eq!((&buf[..count], from), (&b"hello"[..], a.local_addr()?));
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
pub struct UdpSocket {
    socket: Socket<mio::net::UdpSocket>,
}

#[cfg(unix)]
super::descriptor::descriptor!(UdpSocket);

type Io = mio::net::UdpSocket;

impl UdpSocket {
    /// Binds to the first address that can be had. Port 0 means any free one.
    ///
    /// # Errors
    /// If none can be had; the error is what the system says of the last.
    ///
    /// ```
    /// # heist::block_on(async {
    /// let socket = heist::net::UdpSocket::bind("127.0.0.1:0").await?;
    /// assert_ne!(socket.local_addr()?.port(), 0);
    /// # std::io::Result::Ok(())
    /// # }).unwrap();
    /// ```
    pub async fn bind(addrs: impl ToSocketAddrs) -> io::Result<Self> {
        first_of(addrs, async |addr| Ok(Self { socket: Socket::new(Io::bind(addr)?)? })).await
    }

    /// Decides whom [`send`](Self::send) sends to, and from whom datagrams are received.
    ///
    /// # Errors
    /// If no address will do; the error is what the system says of the last.
    ///
    /// ```
    /// # use heist::net::UdpSocket;
    /// # heist::block_on(async {
    /// let (a, b) = (UdpSocket::bind("127.0.0.1:0").await?, UdpSocket::bind("127.0.0.1:0").await?);
    /// a.connect(b.local_addr()?).await?;
    /// a.send(b"hello").await?;
    /// assert_eq!(b.recv(&mut [0; 16]).await?, 5);
    /// # std::io::Result::Ok(())
    /// # }).unwrap();
    /// ```
    pub async fn connect(&self, addrs: impl ToSocketAddrs) -> io::Result<()> {
        first_of(addrs, |addr| std::future::ready(self.socket.connect(addr))).await
    }

    /// Sends a datagram to the address that it is connected to.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// See [`connect`](Self::connect) for an example.
    pub async fn send(&self, buf: &[u8]) -> io::Result<usize> {
        self.socket.attempt(Direction::Write, |io: &Io| io.send(buf)).await
    }

    /// Receives a datagram; what does not fit into `buf` is lost.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// See [`connect`](Self::connect) for an example.
    pub async fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.socket.attempt(Direction::Read, |io: &Io| io.recv(buf)).await
    }

    /// Sends a datagram to the first address that `target` stands for.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// ```
    /// # use heist::net::UdpSocket;
    /// async fn answer(socket: &UdpSocket) -> std::io::Result<()> {
    ///     let mut buf = [0; 1500];
    ///     let (count, from) = socket.recv_from(&mut buf).await?;
    ///     socket.send_to(&buf[..count], from).await?;
    ///     Ok(())
    /// }
    /// ```
    pub async fn send_to(&self, buf: &[u8], target: impl ToSocketAddrs) -> io::Result<usize> {
        use super::addrs::Place;
        let addr = match target.place() {
            Place::At(addr) => addr,
            _ => match super::lookup(target).await?.first() {
                Some(addr) => *addr,
                None => {
                    return Err(io::Error::new(
                        io::ErrorKind::InvalidInput,
                        "there is no address to send to",
                    ));
                }
            },
        };
        self.socket.attempt(Direction::Write, |io: &Io| io.send_to(buf, addr)).await
    }

    /// Receives a datagram and says where it comes from; what does not fit into `buf` is lost.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// See [`send_to`](Self::send_to) for an example.
    pub async fn recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.socket.attempt(Direction::Read, |io: &Io| io.recv_from(buf)).await
    }

    /// As [`recv`](Self::recv), without taking the datagram.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// ```
    /// # use heist::net::UdpSocket;
    /// async fn kind(socket: &UdpSocket) -> std::io::Result<u8> {
    ///     let mut first = [0];
    ///     socket.peek(&mut first).await?;
    ///     Ok(first[0])
    /// }
    /// ```
    pub async fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.socket.attempt(Direction::Read, |io: &Io| io.peek(buf)).await
    }

    /// As [`recv_from`](Self::recv_from), without taking the datagram.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// ```
    /// # use heist::net::UdpSocket;
    /// async fn who(socket: &UdpSocket) -> std::io::Result<std::net::SocketAddr> {
    ///     Ok(socket.peek_from(&mut [0]).await?.1)
    /// }
    /// ```
    pub async fn peek_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.socket.attempt(Direction::Read, |io: &Io| io.peek_from(buf)).await
    }

    /// As [`send`](Self::send), for use in a poll function.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// ```
    /// # use heist::net::UdpSocket;
    /// # use std::future::poll_fn;
    /// # heist::block_on(async {
    /// let (a, b) = (UdpSocket::bind("127.0.0.1:0").await?, UdpSocket::bind("127.0.0.1:0").await?);
    /// a.connect(b.local_addr()?).await?;
    /// poll_fn(|cx| a.poll_send(cx, b"hello")).await?;
    /// let mut buf = [0; 16];
    /// assert_eq!(poll_fn(|cx| b.poll_recv(cx, &mut buf)).await?, 5);
    /// # std::io::Result::Ok(())
    /// # }).unwrap();
    /// ```
    pub fn poll_send(&self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.socket.poll(Direction::Write, cx, |io| io.send(buf))
    }

    /// As [`recv`](Self::recv), for use in a poll function.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// See [`poll_send`](Self::poll_send) for an example.
    pub fn poll_recv(&self, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        self.socket.poll(Direction::Read, cx, |io| io.recv(buf))
    }

    /// As [`send_to`](Self::send_to), for use in a poll function.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// ```
    /// # use heist::net::UdpSocket;
    /// # use std::future::poll_fn;
    /// # heist::block_on(async {
    /// let (a, b) = (UdpSocket::bind("127.0.0.1:0").await?, UdpSocket::bind("127.0.0.1:0").await?);
    /// let target = b.local_addr()?;
    /// poll_fn(|cx| a.poll_send_to(cx, b"hello", target)).await?;
    /// let mut buf = [0; 16];
    /// assert_eq!(poll_fn(|cx| b.poll_recv_from(cx, &mut buf)).await?, (5, a.local_addr()?));
    /// # std::io::Result::Ok(())
    /// # }).unwrap();
    /// ```
    pub fn poll_send_to(
        &self,
        cx: &mut Context<'_>,
        buf: &[u8],
        target: SocketAddr,
    ) -> Poll<io::Result<usize>> {
        self.socket.poll(Direction::Write, cx, |io| io.send_to(buf, target))
    }

    /// As [`recv_from`](Self::recv_from), for use in a poll function.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// See [`poll_send_to`](Self::poll_send_to) for an example.
    pub fn poll_recv_from(
        &self,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<(usize, SocketAddr)>> {
        self.socket.poll(Direction::Read, cx, |io| io.recv_from(buf))
    }

    /// Waits until there is a datagram. It may be mistaken: a [`try_recv`](Self::try_recv) that finds none says so.
    ///
    /// # Errors
    /// If the socket's pool is gone.
    ///
    /// ```
    /// # use heist::net::UdpSocket;
    /// async fn drain(socket: &UdpSocket) -> std::io::Result<usize> {
    ///     let (mut buf, mut count) = ([0; 1500], 0);
    ///     socket.readable().await?;
    ///     while socket.try_recv(&mut buf).is_ok() {
    ///         count += 1;
    ///     }
    ///     Ok(count)
    /// }
    /// ```
    pub async fn readable(&self) -> io::Result<()> {
        self.socket.ready(Direction::Read).await
    }

    /// Waits until there is room for a datagram. It may be mistaken.
    ///
    /// # Errors
    /// If the socket's pool is gone.
    ///
    /// ```
    /// # use heist::net::UdpSocket;
    /// async fn ping(socket: &UdpSocket) -> std::io::Result<usize> {
    ///     socket.writable().await?;
    ///     socket.try_send(b"ping")
    /// }
    /// ```
    pub async fn writable(&self) -> io::Result<()> {
        self.socket.ready(Direction::Write).await
    }

    /// As [`recv`](Self::recv), without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is no datagram, and whatever the system says.
    ///
    /// See [`readable`](Self::readable) for an example.
    pub fn try_recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.socket.try_now(Direction::Read, |io| io.recv(buf))
    }

    /// As [`recv_from`](Self::recv_from), without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is no datagram, and whatever the system says.
    ///
    /// ```
    /// # use heist::net::UdpSocket;
    /// fn is_quiet(socket: &UdpSocket) -> bool {
    ///     socket.try_recv_from(&mut [0]).is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
    /// }
    /// ```
    pub fn try_recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.socket.try_now(Direction::Read, |io| io.recv_from(buf))
    }

    /// As [`send`](Self::send), without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is no room, and whatever the system says.
    ///
    /// See [`writable`](Self::writable) for an example.
    pub fn try_send(&self, buf: &[u8]) -> io::Result<usize> {
        self.socket.try_now(Direction::Write, |io| io.send(buf))
    }

    /// As [`send_to`](Self::send_to), without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is no room, and whatever the system says.
    ///
    /// ```
    /// # use heist::net::UdpSocket;
    /// fn ping(socket: &UdpSocket, target: std::net::SocketAddr) -> std::io::Result<usize> {
    ///     socket.try_send_to(b"ping", target)
    /// }
    /// ```
    pub fn try_send_to(&self, buf: &[u8], target: SocketAddr) -> io::Result<usize> {
        self.socket.try_now(Direction::Write, |io| io.send_to(buf, target))
    }

    /// The address it is bound to.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// See [`bind`](Self::bind) for an example.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// The address it is connected to.
    ///
    /// # Errors
    /// What the system says, for instance that there is none.
    ///
    /// ```
    /// # heist::block_on(async {
    /// let socket = heist::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    /// assert!(socket.peer_addr().is_err());
    /// # });
    /// ```
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.socket.peer_addr()
    }

    /// Whether it may send to a broadcast address.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// ```
    /// # heist::block_on(async {
    /// let socket = heist::net::UdpSocket::bind("127.0.0.1:0").await?;
    /// socket.set_broadcast(true)?;
    /// assert!(socket.broadcast()?);
    /// # std::io::Result::Ok(())
    /// # }).unwrap();
    /// ```
    pub fn broadcast(&self) -> io::Result<bool> {
        self.socket.broadcast()
    }

    /// Decides whether it may send to a broadcast address.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// See [`broadcast`](Self::broadcast) for an example.
    pub fn set_broadcast(&self, may: bool) -> io::Result<()> {
        self.socket.set_broadcast(may)
    }

    /// The time to live of datagrams.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// ```
    /// # heist::block_on(async {
    /// let socket = heist::net::UdpSocket::bind("127.0.0.1:0").await?;
    /// socket.set_ttl(3)?;
    /// assert_eq!(socket.ttl()?, 3);
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

    /// Joins a multicast group, on the interface with this address.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// ```
    /// # use heist::net::UdpSocket;
    /// # use std::net::Ipv4Addr;
    /// fn join(socket: &UdpSocket) -> std::io::Result<()> {
    ///     socket.join_multicast_v4(Ipv4Addr::new(224, 0, 0, 251), Ipv4Addr::UNSPECIFIED)
    /// }
    /// ```
    pub fn join_multicast_v4(&self, group: Ipv4Addr, interface: Ipv4Addr) -> io::Result<()> {
        self.socket.join_multicast_v4(&group, &interface)
    }

    /// Leaves a multicast group.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// ```
    /// # use heist::net::UdpSocket;
    /// # use std::net::Ipv4Addr;
    /// fn leave(socket: &UdpSocket) -> std::io::Result<()> {
    ///     socket.leave_multicast_v4(Ipv4Addr::new(224, 0, 0, 251), Ipv4Addr::UNSPECIFIED)
    /// }
    /// ```
    pub fn leave_multicast_v4(&self, group: Ipv4Addr, interface: Ipv4Addr) -> io::Result<()> {
        self.socket.leave_multicast_v4(&group, &interface)
    }

    /// Joins a multicast group, on the interface with this number; 0 means any.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// ```
    /// # use heist::net::UdpSocket;
    /// fn join(socket: &UdpSocket) -> std::io::Result<()> {
    ///     socket.join_multicast_v6("ff02::fb".parse().unwrap(), 0)
    /// }
    /// ```
    pub fn join_multicast_v6(&self, group: Ipv6Addr, interface: u32) -> io::Result<()> {
        self.socket.join_multicast_v6(&group, interface)
    }

    /// Leaves a multicast group.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// ```
    /// # use heist::net::UdpSocket;
    /// fn leave(socket: &UdpSocket) -> std::io::Result<()> {
    ///     socket.leave_multicast_v6("ff02::fb".parse().unwrap(), 0)
    /// }
    /// ```
    pub fn leave_multicast_v6(&self, group: Ipv6Addr, interface: u32) -> io::Result<()> {
        self.socket.leave_multicast_v6(&group, interface)
    }

    /// Takes over a socket of the standard library, which from then on does not block.
    ///
    /// # Errors
    /// If the system does not allow that, or the reactor cannot be opened.
    ///
    /// ```
    /// let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    /// let socket = heist::net::UdpSocket::from_std(socket).unwrap();
    /// let socket: std::net::UdpSocket = socket.into_std();
    /// ```
    pub fn from_std(socket: std::net::UdpSocket) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self { socket: Socket::new(Io::from_std(socket))? })
    }

    /// The socket, as one of the standard library that does not block.
    ///
    /// See [`from_std`](Self::from_std) for an example.
    pub fn into_std(self) -> std::net::UdpSocket {
        self.socket.into_inner().into()
    }
}
