//! `heist live`, as a shell runs it.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

fn live(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heist"));
    command.env_remove("HEIST_LIVE").env_remove("HEIST_NUM_THREADS").arg("live").args(arguments);
    command
}

#[test]
fn alone_it_says_what_to_do() {
    let output = live(&[]).output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("HEIST_LIVE=127.0.0.1:7878 ./my-program") && text.contains("--demo"), "{text}");
    let told: Value = serde_json::from_slice(&live(&["--json"]).output().unwrap().stdout).unwrap();
    assert!(told["feature"].as_str().unwrap().contains("features = [\"live\"]"));
}

#[test]
fn addresses_that_others_can_reach_are_refused() {
    let output = live(&["--demo", "--addr", "0.0.0.0:0"]).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(error.contains("--addr 0.0.0.0:0") && error.contains("other machines"), "{error}");
    let output = live(&["--addr", "127.0.0.1:0"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "an address without --demo has no meaning");
}

/// A demonstration, ended with the test.
struct Demo {
    child: Child,
    addr: String,
    token: String,
}

impl Demo {
    fn start() -> Self {
        let mut child =
            live(&["--demo", "--json"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let told: Value = serde_json::from_str(&line).unwrap();
        let text = |key: &str| told[key].as_str().unwrap().to_owned();
        assert_eq!(text("url"), format!("http://{}/?token={}", text("addr"), text("token")));
        Self { addr: text("addr"), token: text("token"), child }
    }

    fn ask(&self, request: &str, origin: &str) -> String {
        let mut stream = TcpStream::connect(&self.addr).unwrap();
        let port = self.addr.rsplit(':').next().unwrap();
        let head = format!(
            "{request} HTTP/1.1\r\nHost: {}\r\nCookie: heist-live-{port}={}\r\n{origin}Content-Length: 0\r\n\r\n",
            self.addr, self.token
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn frame(&self) -> Value {
        let answer = self.ask("GET /frame.json", "");
        serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_demonstration_takes_orders_from_its_own_page_only() {
    let demo = Demo::start();
    let frame = demo.frame();
    assert_eq!(frame["pools"][0]["workers"].as_array().unwrap().len(), 4, "{frame}");
    assert_eq!(frame["demo"]["runs"], true);
    let note = frame["demo"]["note"].as_str().unwrap().to_owned();
    let waits = std::thread::available_parallelism().is_ok_and(|cores| cores.get() < 4);
    assert_eq!(note.contains("only waits"), waits, "{note}");
    let own = format!("Origin: http://{}\r\n", demo.addr);
    assert!(demo.ask("POST /demo/pause", "").starts_with("HTTP/1.1 403"));
    assert!(demo.ask("POST /demo/pause", "Origin: http://evil.example\r\n").starts_with("HTTP/1.1 403"));
    assert_eq!(demo.frame()["demo"]["runs"], true);
    assert!(demo.ask("POST /demo/pause", &own).starts_with("HTTP/1.1 204"));
    assert_eq!(demo.frame()["demo"]["runs"], false);
    assert!(demo.ask("POST /demo/reseed", &own).starts_with("HTTP/1.1 204"));
    let frame = demo.frame();
    assert_eq!(frame["demo"]["runs"], true);
    assert_ne!(frame["demo"]["note"].as_str().unwrap(), note);
    assert!(demo.ask("POST /demo/start", &own).starts_with("HTTP/1.1 204"));
}

#[test]
fn it_ends_when_it_was_told_to() {
    let output = live(&["--demo", "--seconds", "0"]).output().unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("Open http://127.0.0.1:"));
}
