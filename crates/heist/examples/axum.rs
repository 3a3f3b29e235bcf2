//! axum on heist's workers: `cargo run --release -p heist --features hyper --example axum [ADDRESS]`.
//!
//! One handler computes on all workers, one blocks its thread; neither holds up the others. axum's own `serve` wants tokio's sockets; its
//! `Router` is a tower service, and hyper-util makes a hyper service of that.
//!
//!     curl localhost:8080/primes/1000000
//!     curl localhost:8080/nap/500

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::get;
use heist::hyper_rt::{HeistIo, HeistTimer};
use heist::net::TcpListener;
use heist::prelude::*;
use heist::time::Duration;
use hyper::server::conn::http1;
use hyper_util::service::TowerToHyperService;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Clone, Default)]
struct Served(Arc<AtomicU64>);

fn is_prime(n: u64) -> bool {
    n > 1 && (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d))
}

/// Computes on all workers. The task waits meanwhile, and holds none of them.
async fn primes(Path(limit): Path<u64>, State(served): State<Served>) -> String {
    served.0.fetch_add(1, Ordering::Relaxed);
    let count =
        heist::task::compute(move || (0..limit).into_par_iter().filter(|n| is_prime(*n)).count()).await;
    format!("{count} primes below {limit}\n")
}

/// Blocks the thread that it runs on, as a call into an old library may. Another thread runs the other tasks.
async fn nap(Path(ms): Path<u64>, State(served): State<Served>) -> String {
    served.0.fetch_add(1, Ordering::Relaxed);
    std::thread::sleep(Duration::from_millis(ms.min(10_000)));
    format!("slept for {ms} ms\n")
}

async fn count(State(served): State<Served>) -> String {
    format!("{} requests\n", served.0.load(Ordering::Relaxed))
}

fn router() -> Router {
    Router::new()
        .route("/", get(count))
        .route("/primes/{limit}", get(primes))
        .route("/nap/{ms}", get(nap))
        .with_state(Served::default())
}

/// A task for each connection.
async fn serve(listener: TcpListener, router: Router) -> io::Result<()> {
    loop {
        let (stream, peer) = listener.accept().await?;
        let service = TowerToHyperService::new(router.clone());
        heist::task::spawn(async move {
            let mut http = http1::Builder::new();
            http.timer(HeistTimer).header_read_timeout(Duration::from_secs(10));
            if let Err(error) = http.serve_connection(HeistIo::new(stream), service).await {
                eprintln!("{peer}: {error}");
            }
        });
    }
}

fn main() -> io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".into());
    heist::block_on(async {
        let listener = TcpListener::bind(address.as_str()).await?;
        println!("http://{}", listener.local_addr()?);
        serve(listener, router()).await
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use heist::net::TcpStream;
    use std::net::SocketAddr;
    use std::time::Instant;

    /// Asks over a connection of its own.
    async fn ask(address: SocketAddr, path: String) -> io::Result<String> {
        let stream = TcpStream::connect(address).await?;
        let request = format!("GET {path} HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let (mut answer, mut buf) = (Vec::new(), [0; 1024]);
        loop {
            match stream.read(&mut buf).await? {
                0 => return Ok(String::from_utf8_lossy(&answer).into_owned()),
                count => answer.extend_from_slice(&buf[..count]),
            }
        }
    }

    #[test]
    fn it_serves() {
        heist::block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let server = heist::task::spawn(serve(listener, router()));
            // More of those that block than there are workers, each for longer than the test may take.
            let naps: Vec<_> = (0..heist::current_num_threads() + 2)
                .map(|_| heist::task::spawn(ask(address, "/nap/5000".into())))
                .collect();
            let begun = Instant::now();
            let answer = ask(address, "/primes/1000".into()).await.unwrap();
            assert!(
                answer.starts_with("HTTP/1.1 200") && answer.ends_with("168 primes below 1000\n"),
                "{answer}"
            );
            assert!(ask(address, "/".into()).await.unwrap().contains(" requests\n"));
            assert!(ask(address, "/nowhere".into()).await.unwrap().starts_with("HTTP/1.1 404"));
            assert!(begun.elapsed() < Duration::from_secs(5));
            naps.iter().for_each(|nap| nap.abort());
            server.abort();
        });
    }
}
