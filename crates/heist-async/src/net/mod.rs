//! Sockets: TCP, UDP and Unix, with futures-io's [`AsyncRead`](futures_io::AsyncRead) and
//! [`AsyncWrite`](futures_io::AsyncWrite). Needs the feature `net`, which is on by default.
//!
//! A socket is watched by the pool of the thread that makes it, or else by the global one; it can then be used on any thread.
//! The first socket opens the pool's reactor: if the system refuses (too many open files), the operation that makes the socket
//! fails and says so. Streams can be read and written through a shared reference, by several tasks at once.
//!
//! ```
//! use heist::net::{TcpListener, TcpStream};
//!
//! # fn main() -> std::io::Result<()> {
//! heist::block_on(async {
//!     let listener = TcpListener::bind("127.0.0.1:0").await?;
//!     let client = TcpStream::connect(listener.local_addr()?).await?;
//!     let (server, peer) = listener.accept().await?;
//!     assert_eq!(peer, client.local_addr()?);
//!     client.write_all(b"hello").await?;
//!     let mut text = [0; 5];
//!     server.read_exact(&mut text).await?;
//!     assert_eq!(&text, b"hello");
//!     Ok(())
//! })
//! # }
//! ```
//!
//! # Lines, buffers, copies
//!
//! What is built on futures-io's traits fits, and so there is nothing of the kind here. With
//! [futures-lite](https://docs.rs/futures-lite), for instance:
//!
//! ```
//! use futures_lite::{AsyncBufReadExt, StreamExt, io::BufReader};
//! use heist::net::TcpStream;
//!
//! /// Answers each line with its length.
//! async fn measure(stream: TcpStream) -> std::io::Result<()> {
//!     let (read, write) = stream.into_split();
//!     let mut lines = BufReader::new(read).lines();
//!     while let Some(line) = lines.next().await {
//!         write.write_all(format!("{}\n", line?.len()).as_bytes()).await?;
//!     }
//!     Ok(())
//! }
//! # heist::block_on(async {
//! # let listener = heist::net::TcpListener::bind("127.0.0.1:0").await?;
//! # let client = TcpStream::connect(listener.local_addr()?).await?;
//! # let server = heist::task::spawn(measure(listener.accept().await?.0));
//! # client.write_all(b"one\nfifteen\n").await?;
//! # client.shutdown(std::net::Shutdown::Write)?;
//! # let mut text = [0; 4];
//! # client.read_exact(&mut text).await?;
//! # assert_eq!(&text, b"3\n7\n");
//! # server.await?
//! # }).unwrap();
//! ```

mod addrs;
mod backlog;
mod byte_stream;
#[cfg(unix)]
mod descriptor;
mod halves;
#[cfg(unix)]
mod linger;
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
pub use halves::{ReadHalf, WriteHalf};
pub use lookup::lookup;
pub use tcp_listener::TcpListener;
pub use tcp_stream::TcpStream;
pub use udp_socket::UdpSocket;
#[cfg(unix)]
pub use {unix_listener::UnixListener, unix_stream::UnixStream};
