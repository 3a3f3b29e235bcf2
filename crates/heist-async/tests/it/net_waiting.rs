//! Who waits, who is woken, and what an error says.

use crate::rig::io::{echo, read, read_exact, write_all};
use crate::rig::watchdog::watch;
use futures_io::AsyncRead;
use heist_async::block_on;
use heist_async::net::{TcpListener, TcpStream, UdpSocket, lookup};
use heist_async::task::{JoinHandle, spawn};
use heist_async::time::timeout;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn many_connections() {
    let _watch = watch!();
    const CONNECTIONS: usize = 200;
    block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let serving = spawn(async move {
            let mut served: Vec<JoinHandle<_>> = Vec::new();
            for _ in 0..CONNECTIONS {
                let (mut stream, _) = listener.accept().await.unwrap();
                served.push(spawn(async move { echo(&mut stream).await.unwrap() }));
            }
            let mut total = 0;
            for handle in served {
                total += handle.await.unwrap();
            }
            total
        });
        let clients: Vec<JoinHandle<_>> = (0..CONNECTIONS)
            .map(|number| {
                spawn(async move {
                    let mut stream = TcpStream::connect(at).await.unwrap();
                    for round in 0..10_u32 {
                        let sent = [number as u32, round].map(u32::to_le_bytes).concat();
                        write_all(&mut stream, &sent).await.unwrap();
                        let mut got = [0; 8];
                        read_exact(&mut stream, &mut got).await.unwrap();
                        assert_eq!(got, *sent);
                    }
                })
            })
            .collect();
        for client in clients {
            client.await.unwrap();
        }
        assert_eq!(serving.await.unwrap(), CONNECTIONS * 80);
    });
}

#[test]
fn two_tasks_accept_on_one_listener() {
    let _watch = watch!();
    block_on(async {
        let listener = Arc::new(TcpListener::bind("127.0.0.1:0").await.unwrap());
        let at = listener.local_addr().unwrap();
        // Each takes one connection and no more, so both must be woken.
        let accepting: Vec<JoinHandle<_>> = (0..2)
            .map(|_| {
                let listener = listener.clone();
                spawn(async move { listener.accept().await.unwrap().1 })
            })
            .collect();
        let mut clients = Vec::new();
        for _ in 0..2 {
            clients.push(TcpStream::connect(at).await.unwrap());
        }
        let mut peers: Vec<SocketAddr> = Vec::new();
        for handle in accepting {
            peers.push(handle.await.unwrap());
        }
        let mut expected: Vec<_> = clients.iter().map(|c| c.local_addr().unwrap()).collect();
        peers.sort();
        expected.sort();
        assert_eq!(peers, expected);
    });
}

/// Each future that waits has a place of its own, so both are woken.
#[test]
fn two_tasks_read_through_references() {
    let _watch = watch!();
    block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let server = Arc::new(listener.accept().await.unwrap().0);
        let reading: Vec<JoinHandle<_>> = (0..2)
            .map(|_| {
                let server = server.clone();
                spawn(async move {
                    loop {
                        server.readable().await.unwrap();
                        match server.try_read(&mut [0; 64]) {
                            Ok(count) => return count,
                            Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
                        }
                    }
                })
            })
            .collect();
        write_all(&mut client, b"x").await.unwrap();
        // One has the byte or both wait; the end wakes whoever still does.
        drop(client);
        let mut total = 0;
        for handle in reading {
            total += handle.await.unwrap();
        }
        assert_eq!(total, 1);
    });
}

/// A poll function cannot say who it is or when it waits no longer, so a socket remembers one waker for each direction.
#[test]
fn of_poll_functions_the_last_waker_is_kept() {
    let _watch = watch!();
    block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let mut server = listener.accept().await.unwrap().0;
        let counts: Vec<Arc<Count>> = std::iter::repeat_with(Arc::default).take(1000).collect();
        let poll = |server: &mut TcpStream, count: &Arc<Count>| {
            let waker = Waker::from(count.clone());
            Pin::new(server).poll_read(&mut Context::from_waker(&waker), &mut [0; 8]).is_pending()
        };
        for count in &counts {
            assert!(poll(&mut server, count));
        }
        // Futures of the same socket are no part of this.
        let waiting = Arc::new(Count::default());
        let waker = Waker::from(waiting.clone());
        let mut readable = Box::pin(server.readable());
        assert!(readable.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        let kept = counts.iter().filter(|count| Arc::strong_count(count) > 1).count();
        assert_eq!(kept, 1, "the wakers of polls that were repeated are forgotten");
        write_all(&mut client, b"x").await.unwrap();
        while counts[999].0.load(Ordering::SeqCst) == 0 || waiting.0.load(Ordering::SeqCst) == 0 {
            heist_async::task::yield_now().await;
        }
        assert!(counts[..999].iter().all(|count| count.0.load(Ordering::SeqCst) == 0));
        readable.await.unwrap();
        assert_eq!(read(&mut server, &mut [0; 8]).await.unwrap(), 1);
    });
}

/// The system's own number for an error, which programs match on.
#[test]
fn errors_of_the_system_keep_their_number() {
    let _watch = watch!();
    block_on(async {
        let refused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let system = std::net::TcpStream::connect(refused).unwrap_err().raw_os_error();
        assert!(system.is_some());
        let error = TcpStream::connect(refused).await.unwrap_err();
        assert_eq!(error.raw_os_error(), system, "{error}");
        // Of several addresses the last counts.
        let error = TcpStream::connect([refused, refused]).await.unwrap_err();
        assert_eq!(error.raw_os_error(), system, "{error}");
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let system = std::net::TcpListener::bind(taken.local_addr().unwrap()).unwrap_err().raw_os_error();
        let error = TcpListener::bind(taken.local_addr().unwrap()).await.unwrap_err();
        assert_eq!(error.raw_os_error(), system, "{error}");
        let error = UdpSocket::bind("192.0.2.1:1").await.unwrap_err();
        assert!(error.raw_os_error().is_some(), "{error}");
        #[cfg(unix)]
        {
            let error = heist_async::net::UnixStream::connect("/no/such/path").await.unwrap_err();
            let system = std::os::unix::net::UnixStream::connect("/no/such/path").unwrap_err();
            assert_eq!(error.raw_os_error(), system.raw_os_error(), "{error}");
        }
    });
}

#[test]
fn a_dropped_wait_leaves_no_waker_behind() {
    let _watch = watch!();
    let listener = block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let count = Arc::new(Count::default());
    let waker = Waker::from(count.clone());
    let mut cx = Context::from_waker(&waker);
    for _ in 0..3 {
        let mut accept = Box::pin(listener.accept());
        assert!(accept.as_mut().poll(&mut cx).is_pending());
        drop(accept);
    }
    drop(waker);
    assert_eq!(Arc::strong_count(&count), 1);
    assert_eq!(count.0.load(Ordering::SeqCst), 0);
}

#[test]
fn a_wait_that_timed_out_can_be_repeated() {
    let _watch = watch!();
    block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        assert!(timeout(Duration::from_millis(5), listener.accept()).await.is_err());
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        assert!(timeout(Duration::from_millis(5), server.peek(&mut [0])).await.is_err());
        drop(client);
        assert_eq!(server.peek(&mut [0]).await.unwrap(), 0);
    });
}

/// A waker that panics costs nobody else a wake-up, and the driver goes on.
#[test]
fn a_waker_that_panics() {
    let _watch = watch!();
    struct Bad;
    impl Wake for Bad {
        fn wake(self: Arc<Self>) {
            panic!("a waker that panics, as the test asks");
        }
    }
    block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let mut bad = pin!(listener.accept());
        assert!(bad.as_mut().poll(&mut Context::from_waker(&Waker::from(Arc::new(Bad)))).is_pending());
        let accepting = async { listener.accept().await.unwrap() };
        let client = spawn(async move { TcpStream::connect(at).await.unwrap() });
        accepting.await;
        client.await.unwrap();
    });
}

#[test]
fn connect_tries_all_addresses() {
    let _watch = watch!();
    block_on(async {
        // A port that was free a moment ago.
        let free = || std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let (first, second) = (free(), free());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let stream = TcpStream::connect([first, second, at]).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), at);
        let error = TcpStream::connect(vec![first, second]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        let error = TcpStream::connect(Vec::new()).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        let error = TcpListener::bind(at).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
    });
}

#[test]
fn names_are_looked_up() {
    let _watch = watch!();
    block_on(async {
        let found = lookup("localhost:80").await.unwrap();
        assert!(!found.is_empty() && found.iter().all(|addr| addr.ip().is_loopback() && addr.port() == 80));
        let error = lookup("no port here").await.unwrap_err();
        assert!(error.to_string().contains("no port here"), "{error}");
        let socket = UdpSocket::bind(("localhost", 0)).await.unwrap();
        assert!(socket.local_addr().unwrap().ip().is_loopback());
    });
}

#[test]
fn futures_can_be_sent() {
    fn is_send<T: Send>(_: &T) {}
    let name = || "127.0.0.1:0".to_owned();
    is_send(&TcpListener::bind(name()));
    is_send(&TcpStream::connect(name()));
    is_send(&UdpSocket::bind(name()));
    is_send(&lookup(name()));
    let listener = block_on(TcpListener::bind(name())).unwrap();
    is_send(&listener.accept());
    is_send(&listener);
}
