//! Sockets: TCP, UDP and Unix, with futures-io's [`AsyncRead`](futures_io::AsyncRead) and
//! [`AsyncWrite`](futures_io::AsyncWrite).
//!
//! A socket is watched by the pool of the thread that makes it, or else by the global one; it can then be used on any thread.
//! The first socket opens the pool's reactor: if the system refuses (too many open files), the operation that makes the socket
//! fails and says so. Streams can be read and written through a shared reference, by several tasks at once.
//!
//! ```
//! use heist_async::net::{TcpListener, TcpStream};
//!
//! # fn main() -> std::io::Result<()> {
//! heist_async::block_on(async {
//!     let listener = TcpListener::bind("127.0.0.1:0").await?;
//!     let client = TcpStream::connect(listener.local_addr()?).await?;
//!     let (server, peer) = listener.accept().await?;
//!     assert_eq!(peer, client.local_addr()?);
//!     client.writable().await?;
//!     client.try_write(b"hello")?;
//!     let mut text = [0; 5];
//!     while server.peek(&mut text).await? < 5 {}
//!     assert_eq!(&text, b"hello");
//!     Ok(())
//! })
//! # }
//! ```

// The checkers have no sockets.
#![cfg(not(heist_loom))]

mod addrs;
mod backlog;
mod byte_stream;
#[cfg(unix)]
mod descriptor;
mod lookup;
mod socket;
mod tcp_listener;
mod tcp_stream;
mod udp_socket;
#[cfg(unix)]
mod unix_listener;
#[cfg(unix)]
mod unix_stream;

pub use addrs::ToSocketAddrs;
pub use lookup::lookup;
pub use tcp_listener::TcpListener;
pub use tcp_stream::TcpStream;
pub use udp_socket::UdpSocket;
#[cfg(unix)]
pub use {unix_listener::UnixListener, unix_stream::UnixStream};
