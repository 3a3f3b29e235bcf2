//! The streams' own `read`, `write` and what is made of them, and streams in two halves.

use crate::rig::watchdog::watch;
use heist_async::block_on;
use heist_async::net::{ReadHalf, TcpListener, TcpStream, WriteHalf};
use heist_async::task::spawn;
use heist_async::time::{Duration, timeout};
use std::io::{self, ErrorKind};
use std::sync::Arc;

async fn pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let client = TcpStream::connect(listener.local_addr()?).await?;
    Ok((client, listener.accept().await?.0))
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 31 + i / 251) as u8).collect()
}

/// More than the system buffers: both loops go round many times.
#[test]
fn all_and_exact_go_on_until_they_are_done() {
    let _watch = watch!();
    const LEN: usize = 8 << 20;
    block_on(async {
        let (client, server) = pair().await.unwrap();
        let writing = spawn(async move { client.write_all(&pattern(LEN)).await });
        let mut got = vec![0; LEN];
        server.read_exact(&mut got).await.unwrap();
        assert!(got == pattern(LEN));
        writing.await.unwrap().unwrap();
        assert_eq!(server.read(&mut got).await.unwrap(), 0);
    });
}

#[test]
fn a_stream_that_ends_early_is_an_error() {
    let _watch = watch!();
    block_on(async {
        let (client, server) = pair().await.unwrap();
        client.write_all(b"abc").await.unwrap();
        drop(client);
        let error = server.read_exact(&mut [0; 4]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        server.read_exact(&mut []).await.unwrap();
    });
}

/// A read that lost against a time-out has taken nothing, and a write waits for room.
#[test]
fn dropped_futures_have_moved_nothing() {
    let _watch = watch!();
    block_on(async {
        let (client, server) = pair().await.unwrap();
        let soon = Duration::from_millis(5);
        assert!(timeout(soon, server.read(&mut [0; 8])).await.is_err());
        client.write_all(b"abc").await.unwrap();
        let mut text = [0; 8];
        assert_eq!(server.read(&mut text).await.unwrap(), 3);
        assert_eq!(&text[..3], b"abc");
        let mut written = 0;
        while let Ok(count) = timeout(soon, client.write(&[7; 1 << 16])).await {
            written += count.unwrap();
        }
        client.shutdown(std::net::Shutdown::Write).unwrap();
        let (mut read, mut buf) = (0, vec![0; 1 << 20]);
        loop {
            match server.read(&mut buf).await.unwrap() {
                0 => break,
                count => read += count,
            }
        }
        assert_eq!(read, written);
    });
}

/// Through the traits only the last of several readers would be woken.
#[test]
fn any_number_of_tasks_may_wait_to_read() {
    let _watch = watch!();
    const READERS: usize = 8;
    block_on(async {
        let (client, server) = pair().await.unwrap();
        let server = Arc::new(server);
        let readers: Vec<_> = (0..READERS)
            .map(|_| {
                let server = Arc::clone(&server);
                spawn(async move { server.read(&mut [0]).await.unwrap() })
            })
            .collect();
        heist_async::time::sleep(Duration::from_millis(5)).await;
        client.write_all(&[1; READERS]).await.unwrap();
        for reader in readers {
            assert_eq!(reader.await.unwrap(), 1);
        }
    });
}

#[test]
fn halves_work_in_tasks_of_their_own() {
    let _watch = watch!();
    fn is_static<T: Send + Sync + 'static>(_: &T) {}
    block_on(async {
        let (client, server) = pair().await.unwrap();
        let echo = spawn(async move {
            let (read, write) = server.into_split();
            let mut buf = [0; 1000];
            loop {
                match read.read(&mut buf).await.unwrap() {
                    0 => break,
                    count => write.write_all(&buf[..count]).await.unwrap(),
                }
            }
        });
        let (read, write): (ReadHalf<TcpStream>, WriteHalf<TcpStream>) = client.into_split();
        is_static(&read);
        is_static(&write);
        let sending = spawn(async move { write.write_all(&pattern(100_000)).await });
        let mut got = vec![0; 100_000];
        read.read_exact(&mut got).await.unwrap();
        assert!(got == pattern(100_000));
        // The half that writes is gone, so the echo has read the end, and is over.
        sending.await.unwrap().unwrap();
        echo.await.unwrap();
        assert_eq!(read.read(&mut got).await.unwrap(), 0);
    });
}

#[test]
fn halves_become_one_again() {
    let _watch = watch!();
    block_on(async {
        let (client, server) = pair().await.unwrap();
        let (read, write) = client.into_split();
        let (other_read, other_write) = server.into_split();
        let (read, other_write) = read.reunite(other_write).unwrap_err();
        let client = read.reunite(write).unwrap();
        let server = other_read.reunite(other_write).unwrap();
        // Neither end was ended on the way.
        client.write_all(b"x").await.unwrap();
        server.read_exact(&mut [0]).await.unwrap();
        server.write_all(b"y").await.unwrap();
        client.read_exact(&mut [0]).await.unwrap();
    });
}

/// futures-lite's adaptors on halves, each with its own direction.
#[test]
fn halves_have_the_traits() {
    use futures_lite::{AsyncBufReadExt, AsyncWriteExt, StreamExt, io::BufReader};
    let _watch = watch!();
    block_on(async {
        let (client, server) = pair().await.unwrap();
        let (read, _write) = server.into_split();
        let (_, mut write) = client.into_split();
        AsyncWriteExt::write_all(&mut write, b"one\ntwo\n").await.unwrap();
        AsyncWriteExt::close(&mut write).await.unwrap();
        let lines: Vec<String> = BufReader::new(read).lines().map(Result::unwrap).collect().await;
        assert_eq!(lines, ["one", "two"]);
    });
}

#[cfg(unix)]
#[test]
fn unix_streams_have_them_too() {
    let _watch = watch!();
    block_on(async {
        let (a, b) = heist_async::net::UnixStream::pair().unwrap();
        let (read, write) = a.into_split();
        write.write_all(b"abc").await.unwrap();
        drop(write);
        let mut text = [0; 3];
        b.read_exact(&mut text).await.unwrap();
        assert_eq!((&text, b.read(&mut [0]).await.unwrap()), (b"abc", 0));
        assert_eq!(b.write(b"d").await.unwrap(), 1);
        read.read_exact(&mut text[..1]).await.unwrap();
        assert_eq!(text[0], b'd');
    });
}
