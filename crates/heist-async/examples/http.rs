//! An HTTP server and a client on the same pool: `cargo run -p heist-async --features hyper --example http`.
//!
//! The server computes a sum on all workers for each request; the client asks ten times over one connection.

use heist_async::hyper_rt::{HeistIo, HeistTimer};
use heist_async::net::{TcpListener, TcpStream};
use heist_async::{block_on, task};
use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use std::error::Error;
use std::time::Duration;

async fn answer(request: Request<Incoming>) -> Result<Response<String>, std::convert::Infallible> {
    let n: u64 = request.uri().path().trim_start_matches('/').parse().unwrap_or(0);
    let sum = task::compute(move || (0..=n).sum::<u64>()).await;
    Ok(Response::new(format!("{sum}\n")))
}

async fn serve(listener: TcpListener) -> std::io::Result<()> {
    loop {
        let (stream, peer) = listener.accept().await?;
        task::spawn(async move {
            let mut http = hyper::server::conn::http1::Builder::new();
            http.timer(HeistTimer).header_read_timeout(Duration::from_secs(5));
            if let Err(error) = http.serve_connection(HeistIo::new(stream), service_fn(answer)).await {
                eprintln!("{peer}: {error}");
            }
        });
    }
}

async fn ask(addr: std::net::SocketAddr) -> Result<(), Box<dyn Error + Send + Sync>> {
    let stream = TcpStream::connect(addr).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(HeistIo::new(stream)).await?;
    task::spawn(connection);
    for n in 1..=10 {
        sender.ready().await?;
        let request =
            Request::get(format!("/{n}00")).header("host", "localhost").body(Empty::<Bytes>::new())?;
        let body = sender.send_request(request).await?.into_body().collect().await?.to_bytes();
        print!("sum to {n}00: {}", String::from_utf8_lossy(&body));
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let addr = listener.local_addr()?;
        task::spawn(serve(listener));
        ask(addr).await
    })
}
