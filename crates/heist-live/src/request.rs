//! Which requests are answered: a pure function of the request's head.

use crate::demo::Order;
use crate::token::Token;
use hyper::http::request::Parts;
use hyper::{Method, StatusCode, header};
use std::net::{IpAddr, SocketAddr};

/// What requests are judged by.
pub struct Guard {
    pub port: u16,
    /// Whether other machines may ask.
    pub is_beyond_loopback: bool,
    pub token: Token,
    pub has_demo: bool,
}

/// What was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Route {
    /// The page's address with the token: the cookie is set, and the address without the token is given.
    Enter,
    Page,
    Script,
    Style,
    Events,
    Frame,
    Demo(Order),
}

/// Why a request is not answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refusal(pub StatusCode, pub &'static str);

const FOREIGN_HOST: Refusal = Refusal(
    StatusCode::FORBIDDEN,
    "This Host is not answered. Open the address that the program has printed, with its IP address or localhost.",
);
const FOREIGN_ORIGIN: Refusal =
    Refusal(StatusCode::FORBIDDEN, "Requests from other sites' pages are not answered.");
const NO_TOKEN: Refusal = Refusal(
    StatusCode::FORBIDDEN,
    "The token is missing or wrong. Open the whole address that the program has printed: it ends in ?token= and 32 digits.",
);
const NOT_GET: Refusal = Refusal(
    StatusCode::METHOD_NOT_ALLOWED,
    "Only GET is answered: the view reads, it never changes the program.",
);
const NOT_POST: Refusal = Refusal(StatusCode::METHOD_NOT_ALLOWED, "The demonstration is steered by POST.");
const NOT_FOUND: Refusal = Refusal(StatusCode::NOT_FOUND, "There is no such page. The view is at /.");

impl Guard {
    /// The cookie's name. Browsers share cookies between the ports of a host, so it has the port.
    pub fn cookie(&self) -> String {
        format!("heist-live-{}", self.port)
    }

    pub fn judge(&self, head: &Parts) -> Result<Route, Refusal> {
        let host = self.host(head).ok_or(FOREIGN_HOST)?;
        let mut origins = head.headers.get_all(header::ORIGIN).iter();
        let is_own = |origin: &header::HeaderValue| {
            origin.to_str().is_ok_and(|origin| origin.strip_prefix("http://") == Some(host))
        };
        if !origins.all(is_own) {
            return Err(FOREIGN_ORIGIN);
        }
        let path = head.uri.path();
        let order = Order::of(path).filter(|_| self.has_demo);
        match (&head.method, order) {
            (&Method::GET, Some(_)) => return Err(NOT_POST),
            (&Method::GET, None) | (&Method::POST, Some(_)) => {}
            _ => return Err(NOT_GET),
        }
        if path == "/"
            && let Some(given) = query_token(head.uri.query())
        {
            return if self.token.is(given) { Ok(Route::Enter) } else { Err(NO_TOKEN) };
        }
        if !self.has_cookie(head) {
            return Err(NO_TOKEN);
        }
        if let Some(order) = order {
            // Browsers say where a POST comes from.
            let is_from_page = head.headers.contains_key(header::ORIGIN);
            return if is_from_page { Ok(Route::Demo(order)) } else { Err(FOREIGN_ORIGIN) };
        }
        match path {
            "/" => Ok(Route::Page),
            "/app.js" => Ok(Route::Script),
            "/app.css" => Ok(Route::Style),
            "/events" => Ok(Route::Events),
            "/frame.json" => Ok(Route::Frame),
            _ => Err(NOT_FOUND),
        }
    }

    /// The host that was asked, if that is us. A name could be anybody's that was made to point here, so only `localhost` is one.
    fn host<'a>(&self, head: &'a Parts) -> Option<&'a str> {
        let mut hosts = head.headers.get_all(header::HOST).iter();
        let (Some(host), None, None) = (hosts.next(), hosts.next(), head.uri.authority()) else {
            return None;
        };
        let host = host.to_str().ok()?;
        let is_near = |ip: IpAddr| self.is_beyond_loopback || ip.is_loopback();
        let is_own = match host.parse::<SocketAddr>() {
            Ok(address) => address.port() == self.port && is_near(address.ip()),
            Err(_) => match host.rsplit_once(':') {
                Some(("localhost", port)) => port.parse() == Ok(self.port),
                // Browsers leave the usual port out.
                _ => self.port == 80 && (host == "localhost" || host.parse().is_ok_and(is_near)),
            },
        };
        is_own.then_some(host)
    }

    fn has_cookie(&self, head: &Parts) -> bool {
        let name = self.cookie();
        let all = head.headers.get_all(header::COOKIE).iter().filter_map(|cookies| cookies.to_str().ok());
        let mut pairs =
            all.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.any(|(key, value)| key == name && self.token.is(value))
    }
}

fn query_token(query: Option<&str>) -> Option<&str> {
    query?.split('&').find_map(|pair| pair.strip_prefix("token="))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::Request;

    fn guard() -> Guard {
        Guard { port: 7878, is_beyond_loopback: false, token: Token::random(), has_demo: false }
    }

    fn ask(guard: &Guard, method: &str, path: &str, headers: &[(&str, &str)]) -> Result<Route, StatusCode> {
        let mut request = Request::builder().method(method).uri(path);
        for (key, value) in headers {
            request = request.header(*key, *value);
        }
        guard.judge(&request.body(()).unwrap().into_parts().0).map_err(|refusal| refusal.0)
    }

    const HOST: (&str, &str) = ("host", "127.0.0.1:7878");
    const FORBIDDEN: Result<Route, StatusCode> = Err(StatusCode::FORBIDDEN);

    #[test]
    fn only_who_knows_the_token_comes_in() {
        let guard = guard();
        let token = guard.token.as_str();
        assert_eq!(ask(&guard, "GET", "/", &[HOST]), FORBIDDEN);
        assert_eq!(ask(&guard, "GET", "/?token=", &[HOST]), FORBIDDEN);
        assert_eq!(ask(&guard, "GET", &format!("/?token={token}0"), &[HOST]), FORBIDDEN);
        assert_eq!(ask(&guard, "GET", &format!("/?token={token}"), &[HOST]), Ok(Route::Enter));
        // The token opens the door and nothing else.
        assert_eq!(ask(&guard, "GET", &format!("/events?token={token}"), &[HOST]), FORBIDDEN);
        let cookie = format!("other=1; heist-live-7878={token}");
        assert_eq!(ask(&guard, "GET", "/events", &[HOST, ("cookie", &cookie)]), Ok(Route::Events));
        let other_port = format!("heist-live-7879={token}");
        assert_eq!(ask(&guard, "GET", "/events", &[HOST, ("cookie", &other_port)]), FORBIDDEN);
        assert_eq!(ask(&guard, "GET", "/no", &[HOST, ("cookie", &cookie)]), Err(StatusCode::NOT_FOUND));
    }

    #[test]
    fn foreign_hosts_and_origins_are_refused_whatever_they_know() {
        let mut guard = guard();
        let cookie = format!("heist-live-7878={}", guard.token.as_str());
        let ask = |guard: &Guard, headers: &[(&str, &str)]| {
            ask(guard, "GET", "/", &[&[("cookie", cookie.as_str())], headers].concat())
        };
        for host in ["127.0.0.1:7878", "localhost:7878", "[::1]:7878", "127.9.9.9:7878"] {
            assert_eq!(ask(&guard, &[("host", host)]), Ok(Route::Page), "{host}");
            let origin = format!("http://{host}");
            assert_eq!(ask(&guard, &[("host", host), ("origin", &origin)]), Ok(Route::Page), "{host}");
        }
        for host in [
            "evil.example:7878",
            "127.0.0.1:7879",
            "127.0.0.1",
            "localhost",
            "10.0.0.1:7878",
            "",
            "localhost.evil:7878",
        ] {
            assert_eq!(ask(&guard, &[("host", host)]), FORBIDDEN, "{host}");
        }
        assert_eq!(ask(&guard, &[]), FORBIDDEN);
        assert_eq!(ask(&guard, &[HOST, HOST]), FORBIDDEN);
        for origin in [
            "http://evil.example",
            "https://127.0.0.1:7878",
            "http://127.0.0.1:7879",
            "null",
            "http://localhost:7878",
        ] {
            assert_eq!(ask(&guard, &[HOST, ("origin", origin)]), FORBIDDEN, "{origin}");
        }
        guard.is_beyond_loopback = true;
        assert_eq!(ask(&guard, &[("host", "10.0.0.1:7878")]), Ok(Route::Page));
        assert_eq!(ask(&guard, &[("host", "evil.example:7878")]), FORBIDDEN);
    }

    #[test]
    fn it_reads_and_only_a_demonstration_takes_orders() {
        let mut guard = guard();
        let cookie = format!("heist-live-7878={}", guard.token.as_str());
        let known = ("cookie", cookie.as_str());
        let own = ("origin", "http://127.0.0.1:7878");
        for method in ["POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "BREW"] {
            assert_eq!(
                ask(&guard, method, "/", &[HOST, known, own]),
                Err(StatusCode::METHOD_NOT_ALLOWED),
                "{method}"
            );
        }
        assert_eq!(
            ask(&guard, "POST", "/demo/start", &[HOST, known, own]),
            Err(StatusCode::METHOD_NOT_ALLOWED)
        );
        guard.has_demo = true;
        assert_eq!(ask(&guard, "POST", "/demo/start", &[HOST, known, own]), Ok(Route::Demo(Order::Start)));
        assert_eq!(ask(&guard, "POST", "/demo/start", &[HOST, known]), FORBIDDEN);
        assert_eq!(ask(&guard, "POST", "/demo/start", &[HOST, own]), FORBIDDEN);
        assert_eq!(ask(&guard, "POST", "/", &[HOST, known, own]), Err(StatusCode::METHOD_NOT_ALLOWED));
        assert_eq!(
            ask(&guard, "GET", "/demo/start", &[HOST, known, own]),
            Err(StatusCode::METHOD_NOT_ALLOWED)
        );
    }
}
