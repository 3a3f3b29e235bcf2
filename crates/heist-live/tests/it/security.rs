//! Who gets in, and what comes out.

use crate::client::{Client, LONG};
use std::io::{Read, Write};
use std::time::Instant;

fn serve() -> (heist::live::Live, Client) {
    let live = heist::live::serve("127.0.0.1:0").unwrap();
    let client = Client::of(&live);
    (live, client)
}

#[test]
fn the_token_becomes_a_cookie_and_is_gone_from_the_address() {
    let (_live, client) = serve();
    assert_eq!(client.ask("GET /", "").status, 403);
    let entered = client.ask(&format!("GET /?token={}", client.token), "");
    assert_eq!(entered.status, 303);
    assert!(entered.head.contains("location: /\r\n"), "{}", entered.head);
    let cookie = entered.head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    assert!(cookie.contains("; httponly; samesite=strict; path=/"), "{cookie}");
    let page = client.ask("GET /", &format!("Cookie: {}\r\n", cookie.split(';').next().unwrap()));
    assert_eq!(page.status, 200);
    assert!(page.body.contains("<title>heist live</title>"));
    assert!(!page.body.contains(&client.token));
}

#[test]
fn every_answer_has_the_strict_headers() {
    let (_live, client) = serve();
    let paths = ["/", "/app.js", "/app.css", "/frame.json", "/no"];
    for answer in paths.map(|path| client.get(path)).into_iter().chain([client.ask("GET /", "")]) {
        for line in [
            "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:;",
            "x-content-type-options: nosniff",
            "cache-control: no-store",
        ] {
            assert!(answer.head.contains(line), "{line} is not in\n{}", answer.head);
        }
        assert!(!answer.head.contains("access-control-allow"));
    }
    assert_eq!(client.get("/no").status, 404);
}

#[test]
fn others_are_refused_and_told_why() {
    let (_live, client) = serve();
    let known = client.cookie();
    for path in ["/", "/app.js", "/app.css", "/events", "/frame.json"] {
        let request = format!("GET {path}");
        let missing = client.ask(&request, "");
        assert_eq!((missing.status, missing.body.contains("token")), (403, true), "{path}");
        assert_eq!(client.ask(&request, &format!("{known}Host: evil.example\r\n")).status, 403, "{path}");
        assert_eq!(
            client.ask(&request, &format!("{known}Origin: http://evil.example\r\n")).status,
            403,
            "{path}"
        );
        for method in ["POST", "PUT", "HEAD", "OPTIONS"] {
            let answer = client.ask(&format!("{method} {path}"), &format!("{known}Content-Length: 0\r\n"));
            assert_eq!(answer.status, 405, "{method} {path}");
            assert!(answer.head.contains("allow: get"));
        }
    }
    let order = client.ask("POST /demo/pause", &format!("{known}Origin: http://{}\r\n", client.addr));
    assert_eq!(order.status, 405, "only the demonstration takes orders");
}

#[test]
fn other_machines_are_not_served_by_accident() {
    let error = heist::live::serve("0.0.0.0:0").unwrap_err();
    assert!(error.to_string().contains("serve_beyond_loopback"), "{error}");
    let (live, _) = serve();
    let error = heist::live::serve(live.addr()).unwrap_err();
    assert!(error.to_string().contains("port 0"), "{error}");
}

/// Heads that are too long, or never end, cost a moment and are cut off; the next client is served meanwhile.
#[test]
fn a_client_that_never_finishes_is_cut_off() {
    let (_live, client) = serve();
    let begun = Instant::now();
    let mut slow: Vec<_> = (0..8).map(|_| client.connect()).collect();
    for stream in &mut slow {
        stream.write_all(b"GET / HTTP/1.1\r\nHost: ").unwrap();
    }
    assert_eq!(client.get("/").status, 200);
    let mut long = client.connect();
    let line = format!("X: {}\r\n", "x".repeat(60_000));
    let _ = long.write_all(format!("GET / HTTP/1.1\r\nHost: {}\r\n{line}\r\n", client.addr).as_bytes());
    let mut answer = Vec::new();
    let _ = long.read_to_end(&mut answer);
    assert!(!String::from_utf8_lossy(&answer).contains(" 200 "), "a head of 60 KB was accepted");
    for mut stream in slow {
        let _ = stream.read_to_end(&mut Vec::new());
    }
    assert!(begun.elapsed() < LONG, "nobody cuts them off");
}

#[test]
fn dropping_it_ends_the_view() {
    let (live, client) = serve();
    let mut events = client.events();
    assert_eq!(events.status(), 200);
    drop(live);
    // The stream ends, and nobody listens any more.
    let mut rest = Vec::new();
    let _ = events.lines.read_to_end(&mut rest);
    let begun = Instant::now();
    while std::net::TcpStream::connect(client.addr).is_ok() {
        assert!(begun.elapsed() < LONG, "it is still served");
        std::thread::yield_now();
    }
}
