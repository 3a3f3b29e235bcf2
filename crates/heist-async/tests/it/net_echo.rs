//! Bytes go out and come back the same, over every kind of socket.

use crate::rig::io::{close, echo, read, read_exact, read_to_end, read_vectored, write_all, write_vectored};
use crate::rig::watchdog::watch;
use heist_async::block_on;
use heist_async::net::{TcpListener, TcpStream, UdpSocket};
use heist_async::task::{spawn, yield_now};
use std::future::poll_fn;
use std::io::{self, IoSlice, IoSliceMut};

/// Bytes that are not all the same.
fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 31 + i / 251) as u8).collect()
}

async fn tcp_pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let client = TcpStream::connect(listener.local_addr()?).await?;
    let (server, peer) = listener.accept().await?;
    assert_eq!(peer, client.local_addr()?);
    assert_eq!(server.peer_addr()?, peer);
    Ok((client, server))
}

#[test]
fn tcp_messages_of_all_sizes() {
    let _watch = watch!();
    block_on(async {
        let (mut client, mut server) = tcp_pair().await.unwrap();
        let server = spawn(async move { echo(&mut server).await });
        let mut total = 0;
        for len in [1, 2, 100, 4095, 4096, 4097, 60_000] {
            let sent = pattern(len);
            write_all(&mut client, &sent).await.unwrap();
            let mut got = vec![0; len];
            read_exact(&mut client, &mut got).await.unwrap();
            assert!(got == sent, "{len} bytes");
            total += len;
        }
        close(&mut client).await.unwrap();
        assert_eq!(read(&mut client, &mut [0]).await.unwrap(), 0);
        assert_eq!(server.await.unwrap().unwrap(), total);
    });
}

/// Far more than the system buffers, so that both sides wait for room and for data many times.
#[test]
fn tcp_both_directions_at_once_through_full_buffers() {
    let _watch = watch!();
    const LEN: usize = 8 << 20;
    async fn pump(stream: std::sync::Arc<TcpStream>) -> Vec<u8> {
        let writer = stream.clone();
        let writing = spawn(async move {
            write_all(&mut &*writer, &pattern(LEN)).await?;
            close(&mut &*writer).await
        });
        let got = read_to_end(&mut &*stream).await.unwrap();
        writing.await.unwrap().unwrap();
        got
    }
    block_on(async {
        let (client, server) = tcp_pair().await.unwrap();
        let server = spawn(pump(server.into()));
        let got = pump(client.into()).await;
        let sent = pattern(LEN);
        assert!(got == sent);
        assert!(server.await.unwrap() == sent);
    });
}

#[test]
fn tcp_half_close_leaves_the_other_half_open() {
    let _watch = watch!();
    block_on(async {
        let (mut client, mut server) = tcp_pair().await.unwrap();
        write_all(&mut client, b"question").await.unwrap();
        client.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(read_to_end(&mut server).await.unwrap(), b"question");
        // The end is there to be read as often as one likes.
        assert_eq!(read(&mut server, &mut [0]).await.unwrap(), 0);
        write_all(&mut server, b"answer").await.unwrap();
        drop(server);
        assert_eq!(read_to_end(&mut client).await.unwrap(), b"answer");
    });
}

#[test]
fn tcp_vectored() {
    let _watch = watch!();
    block_on(async {
        let (mut client, mut server) = tcp_pair().await.unwrap();
        let sent = write_vectored(&mut client, &[IoSlice::new(b"ab"), IoSlice::new(b"cdef")]).await.unwrap();
        assert_eq!(sent, 6);
        while server.peek(&mut [0; 16]).await.unwrap() < sent {}
        let (mut first, mut second) = ([0; 3], [0; 9]);
        let mut bufs = [IoSliceMut::new(&mut first), IoSliceMut::new(&mut second)];
        assert_eq!(read_vectored(&mut server, &mut bufs).await.unwrap(), 6);
        assert_eq!((&first, &second[..3]), (b"abc", &b"def"[..]));
    });
}

#[test]
fn tcp_peek_and_try() {
    let _watch = watch!();
    block_on(async {
        let (client, server) = tcp_pair().await.unwrap();
        let mut buf = [0; 8];
        assert_eq!(server.try_read(&mut buf).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        client.writable().await.unwrap();
        assert_eq!(client.try_write(b"abc").unwrap(), 3);
        assert_eq!(server.peek(&mut buf[..2]).await.unwrap(), 2);
        server.readable().await.unwrap();
        assert_eq!(server.try_read(&mut buf).unwrap(), 3);
        assert_eq!(&buf[..3], b"abc");
        assert_eq!(server.try_read(&mut buf).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(client);
        server.readable().await.unwrap();
        assert_eq!(server.try_read(&mut buf).unwrap(), 0);
    });
}

#[test]
fn tcp_options() {
    let _watch = watch!();
    block_on(async {
        let (client, server) = tcp_pair().await.unwrap();
        for nodelay in [true, false] {
            client.set_nodelay(nodelay).unwrap();
            assert_eq!(client.nodelay().unwrap(), nodelay);
        }
        server.set_ttl(17).unwrap();
        assert_eq!(server.ttl().unwrap(), 17);
        assert!(client.take_error().unwrap().is_none());
    });
}

#[test]
fn to_std_and_back() {
    let _watch = watch!();
    block_on(async {
        let (client, server) = tcp_pair().await.unwrap();
        let client = client.into_std();
        let mut client = TcpStream::from_std(client).unwrap();
        let mut server = TcpStream::from_std(server.into_std()).unwrap();
        write_all(&mut client, b"x").await.unwrap();
        let mut buf = [0];
        read_exact(&mut server, &mut buf).await.unwrap();
        assert_eq!(&buf, b"x");
    });
}

#[test]
fn udp_to_and_from() {
    let _watch = watch!();
    block_on(async {
        let server = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let at = server.local_addr().unwrap();
        let serving = spawn(async move {
            let mut buf = [0; 1500];
            for _ in 0..200 {
                let (count, from) = server.recv_from(&mut buf).await.unwrap();
                assert_eq!(server.send_to(&buf[..count], from).await.unwrap(), count);
            }
        });
        let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let mut buf = [0; 1500];
        for len in 0..100 {
            let sent = pattern(len);
            client.send_to(&sent, at).await.unwrap();
            let (count, from) = client.recv_from(&mut buf).await.unwrap();
            assert_eq!((&buf[..count], from), (&*sent, at));
        }
        client.connect(at).await.unwrap();
        assert_eq!(client.peer_addr().unwrap(), at);
        for len in 0..100 {
            let sent = pattern(len);
            client.send(&sent).await.unwrap();
            assert_eq!(client.peek(&mut buf).await.unwrap(), len);
            assert_eq!(client.recv(&mut buf).await.unwrap(), len);
            assert_eq!(buf[..len], sent);
        }
        serving.await.unwrap();
        assert_eq!(client.try_recv(&mut buf).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    });
}

#[test]
fn udp_in_poll_functions() {
    let _watch = watch!();
    block_on(async {
        let (a, b) =
            (UdpSocket::bind("127.0.0.1:0").await.unwrap(), UdpSocket::bind("127.0.0.1:0").await.unwrap());
        let (a_at, b_at) = (a.local_addr().unwrap(), b.local_addr().unwrap());
        let answering = spawn(async move {
            let mut buf = [0; 16];
            // Nothing is there yet, so it waits.
            let (count, from) = poll_fn(|cx| b.poll_recv_from(cx, &mut buf)).await.unwrap();
            assert_eq!((&buf[..count], from), (&b"abc"[..], a_at));
            b.connect(from).await.unwrap();
            assert_eq!(poll_fn(|cx| b.poll_send(cx, b"de")).await.unwrap(), 2);
        });
        yield_now().await;
        assert_eq!(poll_fn(|cx| a.poll_send_to(cx, b"abc", b_at)).await.unwrap(), 3);
        let mut buf = [0; 16];
        assert_eq!(poll_fn(|cx| a.poll_recv(cx, &mut buf)).await.unwrap(), 2);
        assert_eq!(&buf[..2], b"de");
        answering.await.unwrap();
    });
}

#[cfg(unix)]
mod unix {
    use super::*;
    use heist_async::net::{UnixListener, UnixStream};
    use std::os::fd::{AsFd, AsRawFd};
    use std::time::Duration;

    #[test]
    fn descriptors_are_those_of_the_sockets() {
        let _watch = watch!();
        block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let same = std::net::TcpListener::from(listener.as_fd().try_clone_to_owned().unwrap());
            assert_eq!(same.local_addr().unwrap(), listener.local_addr().unwrap());
            let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            let same = std::net::TcpStream::from(stream.as_fd().try_clone_to_owned().unwrap());
            assert_eq!(same.local_addr().unwrap(), stream.local_addr().unwrap());
            let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            let same = std::net::UdpSocket::from(socket.as_fd().try_clone_to_owned().unwrap());
            assert_eq!(same.local_addr().unwrap(), socket.local_addr().unwrap());
            let number = stream.as_raw_fd();
            assert_eq!(number, stream.as_fd().as_raw_fd());
            assert_eq!(number, stream.into_std().as_raw_fd());
        });
    }

    #[test]
    fn linger() {
        let _watch = watch!();
        block_on(async {
            let (client, mut server) = tcp_pair().await.unwrap();
            for linger in [Some(Duration::from_secs(3)), None, Some(Duration::ZERO)] {
                client.set_linger(linger).unwrap();
                assert_eq!(client.linger().unwrap(), linger);
            }
            drop(client);
            assert_eq!(read(&mut server, &mut [0]).await.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
        });
    }

    #[test]
    fn unix_accept_in_a_poll_function() {
        let _watch = watch!();
        let path = std::env::temp_dir().join(format!("heist-net-poll-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        block_on(async {
            let listener = UnixListener::bind(&path).unwrap();
            let accepting = spawn(async move {
                let (stream, _) = poll_fn(|cx| listener.poll_accept(cx)).await?;
                assert_ne!(listener.as_raw_fd(), stream.as_raw_fd());
                stream.local_addr()
            });
            yield_now().await;
            let _client = UnixStream::connect(&path).await.unwrap();
            assert_eq!(accepting.await.unwrap().unwrap().as_pathname(), Some(&*path));
        });
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn unix_by_path() {
        let _watch = watch!();
        let path = std::env::temp_dir().join(format!("heist-net-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        block_on(async {
            let listener = UnixListener::bind(&path).unwrap();
            let server = spawn(async move {
                let (mut stream, _) = listener.accept().await?;
                echo(&mut stream).await
            });
            let mut client = UnixStream::connect(&path).await.unwrap();
            assert_eq!(client.peer_addr().unwrap().as_pathname(), Some(&*path));
            let sent = pattern(100_000);
            // The echo waits for room while we do not read, so write and read at once.
            let (writer, mut got) = (&client, vec![0; sent.len()]);
            let mut written = 0;
            let mut read_so_far = 0;
            while read_so_far < sent.len() {
                if written < sent.len() {
                    let end = sent.len().min(written + 4096);
                    write_all(&mut &*writer, &sent[written..end]).await.unwrap();
                    written = end;
                }
                read_so_far += read(&mut &*writer, &mut got[read_so_far..written]).await.unwrap();
            }
            assert!(got == sent);
            close(&mut client).await.unwrap();
            assert_eq!(server.await.unwrap().unwrap(), sent.len());
        });
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn unix_pair_and_half_close() {
        let _watch = watch!();
        block_on(async {
            let (mut a, mut b) = UnixStream::pair().unwrap();
            write_all(&mut a, b"hello").await.unwrap();
            close(&mut a).await.unwrap();
            assert_eq!(read_to_end(&mut b).await.unwrap(), b"hello");
            write_all(&mut b, b"bye").await.unwrap();
            drop(b);
            assert_eq!(read_to_end(&mut a).await.unwrap(), b"bye");
            let mut stream = UnixStream::from_std(a.into_std()).unwrap();
            assert_eq!(write_all(&mut stream, b"x").await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        });
    }

    #[test]
    fn a_path_that_nobody_listens_at() {
        let _watch = watch!();
        let error = block_on(UnixStream::connect("/no/such/socket")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
