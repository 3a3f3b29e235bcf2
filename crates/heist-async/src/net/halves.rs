//! Streams in two parts, for two tasks that own one each.

use std::fmt;
use std::sync::Arc;

/// The part of a stream that reads, from [`TcpStream::into_split`](super::TcpStream::into_split) or
/// [`UnixStream::into_split`](super::UnixStream::into_split). All methods of the stream that take `&self` are there, too.
///
/// ```
/// use heist::net::{ReadHalf, TcpStream};
///
/// async fn first_byte(half: ReadHalf<TcpStream>) -> std::io::Result<u8> {
///     let mut byte = [0];
///     half.read_exact(&mut byte).await?;
///     Ok(byte[0])
/// }
/// ```
pub struct ReadHalf<S> {
    stream: Arc<S>,
}

/// The part of a stream that writes, from [`TcpStream::into_split`](super::TcpStream::into_split) or
/// [`UnixStream::into_split`](super::UnixStream::into_split), with all of the stream's methods. When it is dropped, the other end reads the end of the stream.
///
/// ```
/// use heist::net::{TcpStream, WriteHalf};
///
/// async fn last_words(half: WriteHalf<TcpStream>) -> std::io::Result<()> {
///     half.write_all(b"bye").await
/// }
/// ```
pub struct WriteHalf<S> {
    stream: Arc<S>,
    /// Ends writing; nothing, once both halves are one again.
    end: fn(&S),
}

pub(super) fn split<S>(stream: S, end: fn(&S)) -> (ReadHalf<S>, WriteHalf<S>) {
    let stream = Arc::new(stream);
    (ReadHalf { stream: Arc::clone(&stream) }, WriteHalf { stream, end })
}

impl<S> ReadHalf<S> {
    /// The stream as it was before it was split, if `write` is its other half.
    ///
    /// # Errors
    /// Both halves, if they belong to different streams.
    ///
    /// ```
    /// # heist::block_on(async {
    /// let (a, b) = heist::net::UnixStream::pair()?;
    /// let (read, write) = a.into_split();
    /// let a = read.reunite(write).unwrap();
    /// a.write_all(b"x").await?;
    /// b.read_exact(&mut [0]).await?;
    /// # std::io::Result::Ok(())
    /// # }).unwrap();
    /// ```
    pub fn reunite(self, mut write: WriteHalf<S>) -> Result<S, (Self, WriteHalf<S>)> {
        if !Arc::ptr_eq(&self.stream, &write.stream) {
            return Err((self, write));
        }
        write.end = |_| ();
        drop(write);
        Ok(Arc::into_inner(self.stream).expect("a stream has two halves"))
    }
}

impl<S> Drop for WriteHalf<S> {
    fn drop(&mut self) {
        (self.end)(&self.stream);
    }
}

impl<S> std::ops::Deref for ReadHalf<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.stream
    }
}

impl<S> std::ops::Deref for WriteHalf<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.stream
    }
}

impl<S: fmt::Debug> fmt::Debug for ReadHalf<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ReadHalf").field(&self.stream).finish()
    }
}

impl<S: fmt::Debug> fmt::Debug for WriteHalf<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WriteHalf").field(&self.stream).finish()
    }
}

/// What a half implements of futures-io: only its own direction.
macro_rules! halves {
    ($stream:ident) => {
        impl $stream {
            /// Two parts, one to read and one to write, for two tasks that own one each. Tasks that can borrow the stream, or
            /// share it by an `Arc`, need no such thing: all methods take `&self`.
            ///
            /// ```
            #[doc = concat!("use heist::net::", stringify!($stream), ";")]
            ///
            #[doc = concat!("async fn talk(stream: ", stringify!($stream), ") -> std::io::Result<()> {")]
            ///     let (read, write) = stream.into_split();
            ///     let hello = heist::task::spawn(async move { write.write_all(b"hello").await });
            ///     read.read_exact(&mut [0; 5]).await?;
            ///     hello.await?
            /// }
            /// ```
            pub fn into_split(self) -> ($crate::net::ReadHalf<Self>, $crate::net::WriteHalf<Self>) {
                $crate::net::halves::split(self, |stream| {
                    // A connection that is over needs no end, and nobody could be told of anything else.
                    let _ = stream.shutdown(std::net::Shutdown::Write);
                })
            }
        }

        impl futures_io::AsyncRead for $crate::net::ReadHalf<$stream> {
            fn poll_read(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
                buf: &mut [u8],
            ) -> std::task::Poll<std::io::Result<usize>> {
                std::pin::Pin::new(&mut &**self).poll_read(cx, buf)
            }

            fn poll_read_vectored(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
                bufs: &mut [std::io::IoSliceMut<'_>],
            ) -> std::task::Poll<std::io::Result<usize>> {
                std::pin::Pin::new(&mut &**self).poll_read_vectored(cx, bufs)
            }
        }

        impl futures_io::AsyncWrite for $crate::net::WriteHalf<$stream> {
            fn poll_write(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
                buf: &[u8],
            ) -> std::task::Poll<std::io::Result<usize>> {
                std::pin::Pin::new(&mut &**self).poll_write(cx, buf)
            }

            fn poll_write_vectored(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
                bufs: &[std::io::IoSlice<'_>],
            ) -> std::task::Poll<std::io::Result<usize>> {
                std::pin::Pin::new(&mut &**self).poll_write_vectored(cx, bufs)
            }

            fn poll_flush(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                std::pin::Pin::new(&mut &**self).poll_flush(cx)
            }

            fn poll_close(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                std::pin::Pin::new(&mut &**self).poll_close(cx)
            }
        }
    };
}
pub(super) use halves;
