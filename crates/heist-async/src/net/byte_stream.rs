//! What TCP and Unix streams have in common.

use super::socket::Socket;
use crate::driver::readiness::Direction;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::task::{Context, Poll};

impl<S: mio::event::Source> Socket<S>
where
    for<'a> &'a S: Read + Write,
{
    pub(super) fn poll_read(&self, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        self.poll_transfer(Direction::Read, cx, buf.len(), |mut io| io.read(buf))
    }

    pub(super) fn poll_read_vectored(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
    ) -> Poll<io::Result<usize>> {
        let len = bufs.iter().map(|buf| buf.len()).sum();
        self.poll_transfer(Direction::Read, cx, len, |mut io| io.read_vectored(bufs))
    }

    pub(super) fn poll_write(&self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_transfer(Direction::Write, cx, buf.len(), |mut io| io.write(buf))
    }

    pub(super) fn poll_write_vectored(
        &self,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let len = bufs.iter().map(|buf| buf.len()).sum();
        self.poll_transfer(Direction::Write, cx, len, |mut io| io.write_vectored(bufs))
    }

    pub(super) async fn read(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.transfer(Direction::Read, buf.len(), |mut io| io.read(buf)).await
    }

    pub(super) async fn write(&self, buf: &[u8]) -> io::Result<usize> {
        self.transfer(Direction::Write, buf.len(), |mut io| io.write(buf)).await
    }

    pub(super) async fn read_exact(&self, mut buf: &mut [u8]) -> io::Result<()> {
        while !buf.is_empty() {
            match self.read(buf).await? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => buf = &mut buf[count..],
            }
        }
        Ok(())
    }

    pub(super) async fn write_all(&self, mut buf: &[u8]) -> io::Result<()> {
        while !buf.is_empty() {
            match self.write(buf).await? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                count => buf = &buf[count..],
            }
        }
        Ok(())
    }
}

/// The end of writing. A connection that the peer has ended needs no end from us.
pub(super) fn close(result: io::Result<()>) -> Poll<io::Result<()>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotConnected => Poll::Ready(Ok(())),
        result => Poll::Ready(result),
    }
}

/// futures-io's traits and the methods that wait for a direction, for a stream with a field `socket`.
macro_rules! byte_stream {
    ($stream:ident) => {
        byte_stream!(@traits $stream);
        byte_stream!(@traits &$stream);
        $crate::net::halves::halves!($stream);

        impl $stream {
            /// Waits until there is something to read, and reads what is there. 0 means that the other end will write no more
            /// (or that `buf` is empty).
            ///
            /// A future that is dropped has read nothing: it may lose against a time-out. Several tasks may wait at once; each byte
            /// goes to one of them. For lines and other formats see [the module](crate::net).
            ///
            /// # Errors
            /// What the system says, or if the stream's pool is gone.
            ///
            /// ```
            #[doc = concat!("# use heist::net::", stringify!($stream), ";")]
            #[doc = concat!("async fn echo(stream: &", stringify!($stream), ") -> std::io::Result<()> {")]
            ///     let mut buf = [0; 4096];
            ///     loop {
            ///         match stream.read(&mut buf).await? {
            ///             0 => return Ok(()),
            ///             count => stream.write_all(&buf[..count]).await?,
            ///         }
            ///     }
            /// }
            /// ```
            pub async fn read(&self, buf: &mut [u8]) -> std::io::Result<usize> {
                self.socket.read(buf).await
            }

            /// Reads until `buf` is full.
            ///
            /// A future that is dropped may have read a part, which is then lost.
            ///
            /// # Errors
            /// `UnexpectedEof` if the other end writes no more before that, and whatever the system says.
            ///
            /// ```
            #[doc = concat!("# use heist::net::", stringify!($stream), ";")]
            #[doc = concat!("async fn number(stream: &", stringify!($stream), ") -> std::io::Result<u32> {")]
            ///     let mut bytes = [0; 4];
            ///     stream.read_exact(&mut bytes).await?;
            ///     Ok(u32::from_be_bytes(bytes))
            /// }
            /// ```
            pub async fn read_exact(&self, buf: &mut [u8]) -> std::io::Result<()> {
                self.socket.read_exact(buf).await
            }

            /// Waits until there is room, and writes as much of `buf` as there is room for.
            ///
            /// A future that is dropped has written nothing.
            ///
            /// # Errors
            /// What the system says, or if the stream's pool is gone.
            ///
            /// ```
            #[doc = concat!("# use heist::net::", stringify!($stream), ";")]
            #[doc = concat!("async fn send_some(stream: &", stringify!($stream), ", bytes: &mut Vec<u8>) -> std::io::Result<()> {")]
            ///     let count = stream.write(bytes).await?;
            ///     bytes.drain(..count);
            ///     Ok(())
            /// }
            /// ```
            pub async fn write(&self, buf: &[u8]) -> std::io::Result<usize> {
                self.socket.write(buf).await
            }

            /// Writes all of `buf`. If several tasks do so at once, their bytes may be mixed.
            ///
            /// A future that is dropped may have written a part.
            ///
            /// # Errors
            /// `WriteZero` if the system takes nothing, and whatever it says.
            ///
            /// ```
            #[doc = concat!("use heist::net::", stringify!($stream), ";")]
            /// use heist::time::{Duration, timeout};
            ///
            #[doc = concat!("async fn reply(stream: &", stringify!($stream), ") -> std::io::Result<()> {")]
            ///     timeout(Duration::from_secs(5), stream.write_all(b"200 ok\n")).await?
            /// }
            /// ```
            pub async fn write_all(&self, buf: &[u8]) -> std::io::Result<()> {
                self.socket.write_all(buf).await
            }

            /// Waits until there is something to read, or the end. It may be mistaken: a
            #[doc = concat!("[`try_read`](", stringify!($stream), "::try_read) that finds nothing says so.")]
            ///
            /// # Errors
            /// If the stream's pool is gone.
            ///
            /// ```
            #[doc = concat!("# use heist::net::", stringify!($stream), ";")]
            #[doc = concat!("async fn first_byte(stream: &", stringify!($stream), ") -> std::io::Result<Option<u8>> {")]
            ///     let mut byte = [0];
            ///     loop {
            ///         stream.readable().await?;
            ///         match stream.try_read(&mut byte) {
            ///             Ok(count) => return Ok((count > 0).then_some(byte[0])),
            ///             Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            ///             Err(error) => return Err(error),
            ///         }
            ///     }
            /// }
            /// ```
            pub async fn readable(&self) -> std::io::Result<()> {
                self.socket.ready($crate::driver::readiness::Direction::Read).await
            }

            /// Waits until there is room to write. It may be mistaken, as [`readable`](Self::readable) may.
            ///
            /// # Errors
            /// If the stream's pool is gone.
            ///
            /// ```
            #[doc = concat!("# use heist::net::", stringify!($stream), ";")]
            #[doc = concat!("async fn greet(stream: &", stringify!($stream), ") -> std::io::Result<usize> {")]
            ///     stream.writable().await?;
            ///     stream.try_write(b"hello")
            /// }
            /// ```
            pub async fn writable(&self) -> std::io::Result<()> {
                self.socket.ready($crate::driver::readiness::Direction::Write).await
            }

            /// Reads what is there, without waiting.
            ///
            /// # Errors
            /// `WouldBlock` if there is nothing, and whatever the system says.
            ///
            /// See [`readable`](Self::readable) for an example.
            pub fn try_read(&self, buf: &mut [u8]) -> std::io::Result<usize> {
                self.socket
                    .try_now($crate::driver::readiness::Direction::Read, |mut io| std::io::Read::read(&mut io, buf))
            }

            /// Writes what there is room for, without waiting.
            ///
            /// # Errors
            /// `WouldBlock` if there is none, and whatever the system says.
            ///
            /// See [`writable`](Self::writable) for an example.
            pub fn try_write(&self, buf: &[u8]) -> std::io::Result<usize> {
                self.socket
                    .try_now($crate::driver::readiness::Direction::Write, |mut io| std::io::Write::write(&mut io, buf))
            }

            /// Ends reading, writing or both, at once. What was written before still arrives.
            ///
            /// # Errors
            /// What the system says, for instance that the stream is not connected.
            ///
            /// ```
            #[doc = concat!("# use heist::net::", stringify!($stream), ";")]
            #[doc = concat!("fn no_more(stream: &", stringify!($stream), ") -> std::io::Result<()> {")]
            ///     stream.shutdown(std::net::Shutdown::Write)
            /// }
            /// ```
            pub fn shutdown(&self, how: std::net::Shutdown) -> std::io::Result<()> {
                self.socket.shutdown(how)
            }

            /// The error that the system has kept for the socket, if any; it is cleared.
            ///
            /// # Errors
            /// What the system says.
            ///
            /// ```
            #[doc = concat!("# use heist::net::", stringify!($stream), ";")]
            #[doc = concat!("fn is_fine(stream: &", stringify!($stream), ") -> bool {")]
            ///     matches!(stream.take_error(), Ok(None))
            /// }
            /// ```
            pub fn take_error(&self) -> std::io::Result<Option<std::io::Error>> {
                self.socket.take_error()
            }
        }
    };
    (@traits $stream:ty) => {
        impl futures_io::AsyncRead for $stream {
            fn poll_read(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
                buf: &mut [u8],
            ) -> std::task::Poll<std::io::Result<usize>> {
                self.socket.poll_read(cx, buf)
            }

            fn poll_read_vectored(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
                bufs: &mut [std::io::IoSliceMut<'_>],
            ) -> std::task::Poll<std::io::Result<usize>> {
                self.socket.poll_read_vectored(cx, bufs)
            }
        }

        impl futures_io::AsyncWrite for $stream {
            fn poll_write(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
                buf: &[u8],
            ) -> std::task::Poll<std::io::Result<usize>> {
                self.socket.poll_write(cx, buf)
            }

            fn poll_write_vectored(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
                bufs: &[std::io::IoSlice<'_>],
            ) -> std::task::Poll<std::io::Result<usize>> {
                self.socket.poll_write_vectored(cx, bufs)
            }

            /// Does nothing: there is no buffer of ours.
            fn poll_flush(
                self: std::pin::Pin<&mut Self>,
                _: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                std::task::Poll::Ready(Ok(()))
            }

            /// Ends writing.
            fn poll_close(
                self: std::pin::Pin<&mut Self>,
                _: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                $crate::net::byte_stream::close(self.socket.shutdown(std::net::Shutdown::Write))
            }
        }
    };
}
pub(super) use byte_stream;
