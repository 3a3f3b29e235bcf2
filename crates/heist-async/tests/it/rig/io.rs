//! Reading and writing in futures, as any extension trait over futures-io does it.

use futures_io::{AsyncRead, AsyncWrite};
use std::future::poll_fn;
use std::io::{self, IoSlice, IoSliceMut};
use std::pin::Pin;

pub async fn read(stream: &mut (impl AsyncRead + Unpin), buf: &mut [u8]) -> io::Result<usize> {
    poll_fn(|cx| Pin::new(&mut *stream).poll_read(cx, buf)).await
}

pub async fn write(stream: &mut (impl AsyncWrite + Unpin), buf: &[u8]) -> io::Result<usize> {
    poll_fn(|cx| Pin::new(&mut *stream).poll_write(cx, buf)).await
}

pub async fn read_vectored(
    stream: &mut (impl AsyncRead + Unpin),
    bufs: &mut [IoSliceMut<'_>],
) -> io::Result<usize> {
    poll_fn(|cx| Pin::new(&mut *stream).poll_read_vectored(cx, bufs)).await
}

pub async fn write_vectored(
    stream: &mut (impl AsyncWrite + Unpin),
    bufs: &[IoSlice<'_>],
) -> io::Result<usize> {
    poll_fn(|cx| Pin::new(&mut *stream).poll_write_vectored(cx, bufs)).await
}

pub async fn close(stream: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
    poll_fn(|cx| Pin::new(&mut *stream).poll_close(cx)).await
}

pub async fn write_all(stream: &mut (impl AsyncWrite + Unpin), mut buf: &[u8]) -> io::Result<()> {
    while !buf.is_empty() {
        let count = write(stream, buf).await?;
        buf = &buf[count..];
    }
    Ok(())
}

pub async fn read_exact(stream: &mut (impl AsyncRead + Unpin), mut buf: &mut [u8]) -> io::Result<()> {
    while !buf.is_empty() {
        let count = read(stream, buf).await?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        buf = &mut buf[count..];
    }
    Ok(())
}

pub async fn read_to_end(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let (mut all, mut buf) = (Vec::new(), [0; 4096]);
    loop {
        match read(stream, &mut buf).await? {
            0 => return Ok(all),
            count => all.extend_from_slice(&buf[..count]),
        }
    }
}

/// Sends everything back until the end, then ends too. The bytes that passed.
pub async fn echo(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> io::Result<usize> {
    let (mut total, mut buf) = (0, [0; 4096]);
    loop {
        match read(stream, &mut buf).await? {
            0 => break,
            count => {
                write_all(stream, &buf[..count]).await?;
                total += count;
            }
        }
    }
    close(stream).await?;
    Ok(total)
}
