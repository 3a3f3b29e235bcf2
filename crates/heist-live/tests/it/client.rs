//! Just enough of HTTP.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Long enough for any machine; a test that waits so long has failed.
pub const LONG: Duration = Duration::from_secs(60);

/// Where the view is, and the token.
pub struct Client {
    pub addr: SocketAddr,
    pub token: String,
}

pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Client {
    pub fn of(live: &heist::live::Live) -> Self {
        Self { addr: live.addr(), token: live.token().into() }
    }

    /// From an address as it is printed.
    pub fn at(url: &str) -> Self {
        let (addr, token) = url.strip_prefix("http://").unwrap().split_once("/?token=").unwrap();
        Self { addr: addr.parse().unwrap(), token: token.into() }
    }

    pub fn cookie(&self) -> String {
        format!("Cookie: heist-live-{}={}\r\n", self.addr.port(), self.token)
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.addr).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream
    }

    /// Sends a request with these lines, and the right `Host` if they have none.
    pub fn send(&self, request: &str, lines: &str) -> TcpStream {
        let mut stream = self.connect();
        let host = if lines.contains("Host:") { String::new() } else { format!("Host: {}\r\n", self.addr) };
        stream.write_all(format!("{request} HTTP/1.1\r\n{host}{lines}\r\n").as_bytes()).unwrap();
        stream
    }

    pub fn ask(&self, request: &str, lines: &str) -> Answer {
        let mut text = String::new();
        self.send(request, lines).read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        Answer { status, head: head.to_lowercase(), body: body.into() }
    }

    pub fn get(&self, path: &str) -> Answer {
        self.ask(&format!("GET {path}"), &self.cookie())
    }

    pub fn frame(&self) -> Value {
        let answer = self.get("/frame.json");
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert!(answer.body.len() <= 64 << 10, "{} bytes", answer.body.len());
        serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{error}: {}", answer.body))
    }

    pub fn events(&self) -> Events {
        let stream = self.send("GET /events", &self.cookie());
        Events { lines: BufReader::new(stream) }
    }
}

/// A stream of events.
pub struct Events {
    pub lines: BufReader<TcpStream>,
}

impl Events {
    fn line(&mut self) -> String {
        let mut line = String::new();
        assert_ne!(self.lines.read_line(&mut line).unwrap(), 0, "the stream has ended");
        line.trim_end().into()
    }

    /// The status of the answer.
    pub fn status(&mut self) -> u16 {
        self.line().split(' ').nth(1).unwrap().parse().unwrap()
    }

    /// The next event: its name and what it says. Chunk sizes and empty lines are not events.
    pub fn next(&mut self) -> (String, Value) {
        let mut name = String::from("frame");
        loop {
            let line = self.line();
            if let Some(text) = line.strip_prefix("event: ") {
                name = text.into();
            } else if let Some(data) = line.strip_prefix("data: ") {
                return (name, serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {data}")));
            }
        }
    }

    /// The first frame for which `wanted` holds.
    pub fn wait(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        for _ in 0..1200 {
            let (name, event) = self.next();
            if name == "frame" && wanted(&event) {
                return event;
            }
        }
        panic!("in vain: {what}");
    }
}
