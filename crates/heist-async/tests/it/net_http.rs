//! Feature `hyper`: a server and clients over loopback, bodies larger than any buffer, and a time-out by heist's timers.

use crate::rig::watchdog::watch;
use heist_async::hyper_rt::{HeistExecutor, HeistIo, HeistTimer};
use heist_async::net::{TcpListener, TcpStream};
use heist_async::{block_on, task};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::rt::{Executor, Timer};
use hyper::service::service_fn;
use hyper::{Request, Response};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

async fn echo(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, hyper::Error> {
    Ok(Response::new(Full::new(request.into_body().collect().await?.to_bytes())))
}

/// `patience`: how long it waits for a request's head.
async fn server(patience: Option<Duration>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    HeistExecutor.execute(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            HeistExecutor.execute(async move {
                let mut http = hyper::server::conn::http1::Builder::new();
                http.timer(HeistTimer).header_read_timeout(patience);
                let _ = http.serve_connection(HeistIo::new(stream), service_fn(echo)).await;
            });
        }
    });
    addr
}

#[test]
fn many_clients_get_back_what_they_send() {
    let _watch = watch!();
    block_on(async {
        let addr = server(None).await;
        let clients: Vec<_> = (0..20_u8)
            .map(|client| {
                task::spawn(async move {
                    let stream = TcpStream::connect(addr).await.unwrap();
                    let (mut sender, connection) =
                        hyper::client::conn::http1::handshake(HeistIo::new(stream)).await.unwrap();
                    drop(task::spawn(connection));
                    for size in [0, 1, 1000, 1 << 20] {
                        let body = Bytes::from(vec![client; size]);
                        sender.ready().await.unwrap();
                        let request = Request::post("/").body(Full::new(body.clone())).unwrap();
                        let answer = sender.send_request(request).await.unwrap();
                        assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), body);
                    }
                })
            })
            .collect();
        for client in clients {
            client.await.unwrap();
        }
    });
}

#[test]
fn a_client_that_says_nothing_is_hung_up_on() {
    let _watch = watch!();
    use std::io::Read;
    let addr = block_on(server(Some(Duration::from_millis(50))));
    let mut silent = std::net::TcpStream::connect(addr).unwrap();
    // Ends because the server's header time-out closes the connection.
    let mut rest = Vec::new();
    silent.read_to_end(&mut rest).unwrap();
}

#[test]
fn a_sleep_can_be_put_off() {
    let _watch = watch!();
    let timer = HeistTimer;
    let (begun, later) = (Instant::now(), Duration::from_millis(30));
    let mut sleep = timer.sleep(Duration::from_millis(1));
    timer.reset(&mut sleep, begun + later);
    block_on(sleep);
    assert!(begun.elapsed() >= later);
}
