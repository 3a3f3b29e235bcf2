//! HTTP with hyper on both runtimes: as many greetings as possible, and greetings beside requests that compute.

mod mixed;
pub mod server;

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use super::echo::measure;
use super::load;
use super::serve::Service;
use crate::race::Plan;
use crate::report::{Judged, Table};

const LINE: &str = "http";
const CONNECTIONS: [usize; 2] = [64, 512];
const TIME: Duration = Duration::from_secs(2);
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: bench\r\n\r\n";

pub fn line(plan: &mut Plan) -> Vec<Table> {
    let generator = Generator::find();
    let mut rows = Vec::new();
    for connections in CONNECTIONS {
        let name = format!("hello, {connections} connections");
        if plan.wants_row(&name) {
            let run = |address| generator.run(address, connections);
            rows.extend(measure(plan, &name, Service::Http, &|server| run(server.address)));
        }
    }
    let mut tables = Vec::new();
    if !rows.is_empty() {
        let title = format!("hyper's hello, {} on the same cores", generator.name());
        tables.push(Table::with_rows(LINE, title, "us a request", Judged::Median, rows));
    }
    tables.extend(mixed::tables(plan));
    tables
}

/// Who sends the requests.
enum Generator {
    Wrk,
    Own,
}

impl Generator {
    /// wrk where it is installed.
    fn find() -> Generator {
        match Command::new("wrk").arg("--version").output() {
            Ok(_) => Generator::Wrk,
            Err(_) => Generator::Own,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Generator::Wrk => "wrk",
            Generator::Own => "the own generator",
        }
    }

    /// How many requests were answered in [`TIME`].
    fn run(&self, address: SocketAddr, connections: usize) -> u64 {
        match self {
            Generator::Wrk => {
                let output = Command::new("wrk")
                    .args(["-t1", &format!("-c{connections}"), &format!("-d{}s", TIME.as_secs())])
                    .arg(format!("http://{address}/"))
                    .output()
                    .expect("wrk was there before");
                let text = String::from_utf8_lossy(&output.stdout);
                requests(&text).unwrap_or_else(|| panic!("wrk said {text:?}"))
            }
            Generator::Own => {
                let reply_len = load::reply_len(address, REQUEST);
                load::closed(address, connections, REQUEST, reply_len, TIME)
            }
        }
    }
}

/// wrk's line "  4711 requests in 2.00s, 1.00MB read"; none if it had errors, too.
fn requests(output: &str) -> Option<u64> {
    if output.contains("Socket errors") || output.contains("Non-2xx") {
        return None;
    }
    let line = output.lines().find(|line| line.contains(" requests in "))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::requests;

    #[test]
    fn wrk_is_understood() {
        let good = "Running 2s test\n  4711 requests in 2.00s, 1.00MB read\nRequests/sec: 2355.5\n";
        assert_eq!(requests(good), Some(4711));
        assert_eq!(
            requests(&format!("{good}  Socket errors: connect 0, read 1, write 0, timeout 0\n")),
            None
        );
        assert_eq!(requests("unable to connect"), None);
    }
}
