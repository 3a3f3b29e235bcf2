//! 10,000 open connections on which nothing happens, each with a timer that is far away: a server may sleep.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, DirEntry};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use super::echo::LINE;
use super::figures::{Figures, Limit, row};
use super::serve::{Server, Service};
use crate::args::Async;
use crate::race::Plan;
use crate::report::{Judged, Table};

const CONNECTIONS: usize = 10_000;
/// So many may wait to be accepted; the listener's own limit is 128.
const BACKLOG: usize = 64;
/// A server may search for a while before it sleeps.
const SETTLE: Duration = Duration::from_millis(1500);
const WATCH: Duration = Duration::from_secs(5);

pub fn table(plan: &Plan) -> Option<Table> {
    if !plan.wants_row("idle") {
        return None;
    }
    let wake_ups = |runtime: Async| {
        let count = wake_ups(runtime) as f64;
        Figures { best: count, median: count, samples: 1 }
    };
    let row = row(
        &format!("idle, {CONNECTIONS} connections"),
        wake_ups(Async::Tokio),
        #[cfg(feature = "heist")]
        Some(wake_ups(Async::Heist)),
        #[cfg(not(feature = "heist"))]
        None,
        &[Limit::Figure(0.0)],
    );
    let title = format!("{CONNECTIONS} silent connections with far timers, {} s", WATCH.as_secs());
    Some(Table::with_rows(LINE, title, "wake-ups", Judged::Median, vec![row]))
}

/// Of all threads of the server.
fn wake_ups(runtime: Async) -> u64 {
    let server = Server::start(Service::Patient, runtime);
    let mut connections = Vec::with_capacity(CONNECTIONS);
    while connections.len() < CONNECTIONS {
        let stream = TcpStream::connect(server.address);
        let mut stream = stream
            .unwrap_or_else(|error| panic!("connection {} of {CONNECTIONS}: {error}", connections.len()));
        if connections.len() % BACKLOG == 0 || connections.len() == CONNECTIONS - 1 {
            answered(&mut stream);
        }
        connections.push(stream);
    }
    thread::sleep(SETTLE);
    let before = switches(server.pid());
    thread::sleep(WATCH);
    let after = switches(server.pid());
    drop(connections);
    woken(&before, &after)
}

/// A connection that answers has been accepted, and so have all before it.
fn answered(stream: &mut TcpStream) {
    stream.write_all(b"x").expect("the server reads");
    stream.read_exact(&mut [0]).expect("the server replies");
}

/// Voluntary switches of each thread of a process.
fn switches(pid: u32) -> BTreeMap<OsString, u64> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("the server lives");
    let of = |task: DirEntry| {
        // A thread that has just ended is not there any more.
        let status = fs::read_to_string(task.path().join("status")).ok()?;
        let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        let count = count.and_then(|count| count.trim().parse::<u64>().ok());
        Some((task.file_name(), count.expect("the status of a thread counts its switches")))
    };
    tasks.filter_map(|task| of(task.expect("an entry of the server's threads"))).collect()
}

/// A thread that has ended woke up for that at least, and one that has begun counts from its beginning.
fn woken(before: &BTreeMap<OsString, u64>, after: &BTreeMap<OsString, u64>) -> u64 {
    let ended = before.keys().filter(|thread| !after.contains_key(*thread)).count() as u64;
    let woken = after.iter().map(|(thread, count)| count - before.get(thread).unwrap_or(&0));
    ended + woken.sum::<u64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_come_and_go_count() {
        let switches = |threads: &[(&str, u64)]| threads.iter().map(|&(id, n)| (id.into(), n)).collect();
        assert_eq!(woken(&switches(&[("1", 5), ("2", 7)]), &switches(&[("1", 5), ("2", 7)])), 0);
        assert_eq!(woken(&switches(&[("1", 5), ("2", 7)]), &switches(&[("1", 6), ("3", 2)])), 4);
    }
}
