//! The server of the page: HTTP/1.1 by hyper on a private pool.

use crate::demo::Demo;
use crate::page;
use crate::request::{Guard, Refusal, Route};
use crate::sample::Sampler;
use crate::token::Token;
use crate::viewers::{self, End, Viewers, Watching};
use heist_async::hyper_rt::{HeistIo, HeistTimer};
use heist_async::net::{TcpListener, TcpStream};
use heist_async::{task, time};
use heist_pool::raw::build::BuildError;
use heist_pool::raw::pool::{Config, Pool};
use heist_pool::raw::recorder;
use heist_pool::raw::threads::ThreadStart;
use heist_sync::std_atomic::{AtomicUsize, Ordering};
use heist_sync::{Mutex, StdArc as Arc, lock};
use hyper::body::{Body, Bytes, Frame as BodyFrame, Incoming, SizeHint};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// 20 snapshots a second.
const EVERY: Duration = Duration::from_millis(50);
/// A request's head must be there by then.
const HEAD_WITHIN: Duration = Duration::from_secs(5);
/// The most bytes and lines of a head.
const MOST_HEAD: usize = 16 << 10;
const MOST_HEADERS: usize = 64;
/// The most connections at once; a page needs one, and three more while it loads.
const MOST_CONNECTIONS: usize = 64;

/// A live view that is being served. Dropping it ends that; [`detach`](Self::detach) does not.
///
/// ```
/// let live = heist::live::serve("127.0.0.1:0")?;
/// assert!(live.addr().ip().is_loopback());
/// assert_eq!(live.url(), format!("http://{}/?token={}", live.addr(), live.token()));
/// # std::io::Result::Ok(())
/// ```
#[must_use = "dropping it ends the view; keep it, or call detach"]
pub struct Live {
    server: Arc<Server>,
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").field("addr", &self.addr()).finish_non_exhaustive()
    }
}

struct Server {
    pool: Arc<Pool>,
    addr: SocketAddr,
    guard: Guard,
    viewers: Arc<Viewers>,
    sampler: Mutex<Sampler>,
    connections: AtomicUsize,
    demo: Option<Arc<dyn Demo>>,
}

/// Serves the live view of this program at `addr`, an address of this machine that other machines cannot reach, such as `127.0.0.1:7878`; port 0
/// is any that is free. [`Live::url`] is what to open in a browser: whoever knows it may look, nobody can change anything.
///
/// It runs on a thread of its own, beside the program's pools and also while they hang, and does not keep the program from ending.
///
/// ```
/// let live = heist::live::serve("127.0.0.1:0")?;
/// println!("open {}", live.url());
/// # std::io::Result::Ok(())
/// ```
///
/// # Errors
/// If the address is not one of this machine's loopback addresses, or is in use, or no thread can be started.
pub fn serve(addr: impl ToSocketAddrs) -> io::Result<Live> {
    start(resolve(addr)?, false, None)
}

/// As [`serve`], also at addresses that other machines can reach. Nothing is encrypted: whoever can read along on the network learns the token and
/// sees what the program does. Prefer a tunnel to a loopback address.
///
/// ```no_run
/// let live = heist::live::serve_beyond_loopback("0.0.0.0:7878")?;
/// println!("token: {}", live.token());
/// # std::io::Result::Ok(())
/// ```
///
/// # Errors
/// If the address is in use or not this machine's, or no thread can be started.
pub fn serve_beyond_loopback(addr: impl ToSocketAddrs) -> io::Result<Live> {
    start(resolve(addr)?, true, None)
}

/// As [`serve`], for a demonstration that is steered from the page.
#[doc(hidden)]
pub fn serve_demo(addr: impl ToSocketAddrs, demo: Arc<dyn Demo>) -> io::Result<Live> {
    start(resolve(addr)?, false, Some(demo))
}

fn resolve(addr: impl ToSocketAddrs) -> io::Result<SocketAddr> {
    let none = || io::Error::new(io::ErrorKind::InvalidInput, "the name has no address");
    addr.to_socket_addrs()?.next().ok_or_else(none)
}

fn start(addr: SocketAddr, is_beyond_loopback: bool, demo: Option<Arc<dyn Demo>>) -> io::Result<Live> {
    if !is_beyond_loopback && !addr.ip().is_loopback() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!(
                "{addr} can be reached from other machines; use 127.0.0.1 or [::1], or say serve_beyond_loopback if that is meant"
            ),
        ));
    }
    let listener = std::net::TcpListener::bind(addr).map_err(|error| {
        io::Error::new(error.kind(), format!("{addr}: {error}; port 0 is any that is free"))
    })?;
    let addr = listener.local_addr()?;
    keep_buffers_small(&listener);
    let pool = private_pool()?;
    // There, because a socket belongs to the pool in which it was made, and outside of all pools to the global one.
    let listener = pool.install(|| TcpListener::from_std(listener)).inspect_err(|_| pool.close())?;
    let token = Token::random();
    let server = Arc::new(Server {
        pool,
        addr,
        guard: Guard { port: addr.port(), is_beyond_loopback, token, has_demo: demo.is_some() },
        viewers: Arc::default(),
        sampler: Mutex::new(Sampler::new()),
        connections: AtomicUsize::new(0),
        demo,
    });
    lock(&server.sampler).waits_are_work = server.demo.as_ref().is_some_and(|demo| demo.only_waits());
    drop(task::spawn_in(&server.pool, accept(Arc::clone(&server), listener)));
    Ok(Live { server })
}

/// So many bytes wait in the system for a browser that reads slowly. Without a limit it would be shown what was many seconds ago, instead of
/// skipping.
#[cfg(unix)]
fn keep_buffers_small(listener: &std::net::TcpListener) {
    use std::os::fd::AsRawFd;
    let most: libc::c_int = 2 * crate::frame::MOST_BYTES as libc::c_int;
    // SAFETY: the descriptor is open, and the option is the `int` that it is said to be. Connections inherit it. A refusal changes nothing.
    unsafe {
        let size = size_of_val(&most) as libc::socklen_t;
        libc::setsockopt(
            listener.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_SNDBUF,
            (&raw const most).cast(),
            size,
        );
    }
}

#[cfg(not(unix))]
fn keep_buffers_small(_: &std::net::TcpListener) {}

/// One worker that nobody sees in the view.
fn private_pool() -> io::Result<Arc<Pool>> {
    let config = Config {
        parallelism: 1,
        is_hidden: true,
        thread_name: Some(Box::new(|_| Some("heist-live".into()))),
        ..Config::default()
    };
    config.build(ThreadStart::spawn).map_err(|error| match error {
        BuildError::Io(error) => error,
        BuildError::BadValue(why) => io::Error::new(io::ErrorKind::InvalidInput, why),
        BuildError::CurrentThreadInPool => unreachable!("the calling thread does not join"),
    })
}

impl Live {
    /// What to open in a browser, with the token.
    ///
    /// See [`Live`] for an example.
    pub fn url(&self) -> String {
        format!("http://{}/?token={}", self.addr(), self.token())
    }

    /// Where it is served.
    ///
    /// See [`Live`] for an example.
    pub fn addr(&self) -> SocketAddr {
        self.server.addr
    }

    /// The secret that a browser must bring along once.
    ///
    /// See [`Live`] for an example.
    pub fn token(&self) -> &str {
        self.server.guard.token.as_str()
    }

    /// Serves the view until the program ends.
    ///
    /// ```
    /// heist::live::serve("127.0.0.1:0")?.detach();
    /// # std::io::Result::Ok(())
    /// ```
    pub fn detach(self) {
        std::mem::forget(self);
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let pool = &self.server.pool;
        if !pool.is_foreign() {
            pool.close();
            task::abort_all_of(pool);
        }
    }
}

async fn accept(server: Arc<Server>, listener: TcpListener) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => serve_connection(&server, stream),
            // Too many open files, for instance, or a connection that is gone already.
            Err(_) => time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// Counts a connection for as long as it is there.
struct Counted(Arc<Server>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

fn serve_connection(server: &Arc<Server>, stream: TcpStream) {
    let before = server.connections.fetch_add(1, Ordering::Relaxed);
    let counted = Counted(Arc::clone(server));
    if before >= MOST_CONNECTIONS {
        return;
    }
    let end = End::default();
    let its_end = Arc::clone(&end);
    let connection = async move {
        let answer = service_fn(|request: Request<Incoming>| {
            let response = counted.0.answer(&request.into_parts().0, &its_end);
            async move { Ok::<_, Infallible>(response) }
        });
        // One request each: a connection that is kept for the next one could also be kept for nothing.
        let mut http = http1::Builder::new();
        http.timer(HeistTimer)
            .header_read_timeout(HEAD_WITHIN)
            .keep_alive(false)
            .max_buf_size(MOST_HEAD)
            .max_headers(MOST_HEADERS);
        // What goes wrong is the browser's business: it has gone away, or sends what is no HTTP.
        let _ = http.serve_connection(HeistIo::new(stream), answer).await;
    };
    let handle = task::spawn_in(&server.pool, connection);
    let _ = end.set(handle.abort_handle());
}

/// Makes frames for as long as somebody looks.
async fn sample(server: Arc<Server>) {
    // Steals and names are in what threads record; nobody pays for it while nobody looks.
    let recording = recorder::everywhere();
    lock(&server.sampler).set_recorded(true);
    let mut interval = time::interval(EVERY);
    interval.set_missed_tick_behavior(time::MissedTickBehavior::Delay);
    while server.viewers.is_watched() {
        interval.tick().await;
        server.viewers.publish(server.frame());
    }
    lock(&server.sampler).set_recorded(false);
    drop(recording);
}

const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                   base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// With every answer.
const HEADERS: [(HeaderName, &str); 5] = [
    (header::CONTENT_SECURITY_POLICY, CSP),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::CACHE_CONTROL, "no-store"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

const TEXT: &str = "text/plain; charset=utf-8";

impl Server {
    /// A snapshot, as JSON.
    fn frame(&self) -> String {
        let (mut frame, pools) = lock(&self.sampler).frame();
        // Not under the lock: the last reference to a pool may be among these.
        drop(pools);
        frame.demo = self.demo.as_ref().map(|demo| demo.now());
        frame.to_json()
    }

    fn answer(self: &Arc<Self>, head: &hyper::http::request::Parts, end: &End) -> Response<Answer> {
        match self.guard.judge(head) {
            Ok(Route::Enter) => self.enter(),
            Ok(Route::Page) => respond(StatusCode::OK, "text/html; charset=utf-8", page::HTML),
            Ok(Route::Script) => respond(StatusCode::OK, "text/javascript; charset=utf-8", page::JS),
            Ok(Route::Style) => respond(StatusCode::OK, "text/css; charset=utf-8", page::CSS),
            Ok(Route::Frame) => {
                let frame = self.viewers.latest().unwrap_or_else(|| self.frame().into());
                respond(StatusCode::OK, "application/json", frame)
            }
            Ok(Route::Events) => self.watch(end),
            Ok(Route::Demo(order)) => {
                if let Some(demo) = &self.demo {
                    demo.order(order);
                }
                respond(StatusCode::NO_CONTENT, TEXT, "")
            }
            Err(Refusal(status, why)) => {
                let mut response = respond(status, TEXT, format!("{why}\n"));
                if status == StatusCode::METHOD_NOT_ALLOWED {
                    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET"));
                }
                response
            }
        }
    }

    /// The browser has brought the token: it gets the cookie, and an address without the token.
    fn enter(&self) -> Response<Answer> {
        let mut response = respond(StatusCode::SEE_OTHER, TEXT, "");
        let cookie = format!(
            "{}={}; HttpOnly; SameSite=Strict; Path=/",
            self.guard.cookie(),
            self.guard.token.as_str()
        );
        let cookie = HeaderValue::try_from(cookie).expect("digits and letters");
        response.headers_mut().insert(header::SET_COOKIE, cookie);
        response.headers_mut().insert(header::LOCATION, HeaderValue::from_static("/"));
        response
    }

    fn watch(self: &Arc<Self>, end: &End) -> Response<Answer> {
        let Some((watching, is_first)) = self.viewers.join(end) else {
            let why = format!(
                "{} pages look at this program already, which is the most; close one and try again.\n",
                viewers::MOST
            );
            return respond(StatusCode::SERVICE_UNAVAILABLE, TEXT, why);
        };
        if is_first {
            drop(task::spawn_in(&self.pool, sample(Arc::clone(self))));
        }
        with_headers(Response::new(Answer::Events(watching)), "text/event-stream")
    }
}

fn respond(status: StatusCode, kind: &'static str, text: impl Into<Bytes>) -> Response<Answer> {
    let mut response = Response::new(Answer::Whole(Some(text.into())));
    *response.status_mut() = status;
    with_headers(response, kind)
}

fn with_headers(mut response: Response<Answer>, kind: &'static str) -> Response<Answer> {
    let headers = response.headers_mut();
    for (key, value) in HEADERS {
        headers.insert(key, HeaderValue::from_static(value));
    }
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// What is sent.
enum Answer {
    Whole(Option<Bytes>),
    Events(Watching),
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<BodyFrame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(text) => Poll::Ready(text.take().map(|text| Ok(BodyFrame::data(text)))),
            Self::Events(watching) => watching.poll_next(cx).map(|event| Some(Ok(BodyFrame::data(event)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(text) => SizeHint::with_exact(text.as_ref().map_or(0, Bytes::len) as u64),
            Self::Events(_) => SizeHint::default(),
        }
    }
}
