//! The server: a greeting at once, after 20 ms of computing in the handler, or after as much in parallel.

use std::convert::Infallible;
use std::hint::black_box;
use std::net::TcpListener;
use std::sync::OnceLock;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::rt::{Read, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;

use super::super::runtime::Tokio;
use super::super::serve::accept;
use crate::churn::{churn, steps_for};

/// The path that computes on the worker that serves it.
pub const INLINE: &str = "/inline";
/// The path that computes in a parallel iterator.
pub const SPLIT: &str = "/split";

const HEAVY_NS: f64 = 20e6;
/// Of the parallel iterator.
const PARTS: u64 = 100;

/// How a handler computes in parallel: `steps` for each of [`PARTS`].
type Split = fn(steps: u64) -> u64;

pub fn on_tokio(listener: TcpListener) {
    use super::super::runtime::Runtime;
    use rayon::prelude::*;
    calibrate();
    let split: Split =
        |steps| (0..PARTS).into_par_iter().map(|part| churn(part, steps)).reduce(|| 0, |a, b| a ^ b);
    drop(Tokio::spawn_from_outside(accept::<Tokio, _>(listener, move |stream| {
        connection(TokioIo::new(stream), split)
    })));
}

#[cfg(feature = "heist")]
pub fn on_heist(listener: TcpListener) {
    use super::super::runtime::{Heist, Runtime};
    use heist::hyper_rt::HeistIo;
    use heist::prelude::*;
    calibrate();
    let split: Split =
        |steps| (0..PARTS).into_par_iter().map(|part| churn(part, steps)).reduce(|| 0, |a, b| a ^ b);
    drop(Heist::spawn_from_outside(accept::<Heist, _>(listener, move |stream| {
        connection(HeistIo::new(stream), split)
    })));
}

/// Steps that take [`HEAVY_NS`].
fn calibrate() -> u64 {
    static STEPS: OnceLock<u64> = OnceLock::new();
    *STEPS.get_or_init(|| steps_for(HEAVY_NS))
}

async fn connection(io: impl Read + Write + Unpin + Send + 'static, split: Split) {
    let service = service_fn(move |request: Request<Incoming>| async move {
        match request.uri().path() {
            INLINE => {
                black_box(churn(black_box(1), calibrate()));
            }
            SPLIT => {
                black_box(split(black_box(calibrate() / PARTS)));
            }
            _ => {}
        }
        Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"Hello, world!"))))
    });
    // A client that is gone ends its connection, in whatever way.
    let _ = http1::Builder::new().serve_connection(io, service).await;
}
