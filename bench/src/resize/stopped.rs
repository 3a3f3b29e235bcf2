//! What waits while a pool is stopped: how late each kind of work is once threads run again.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use heist::{ThreadPool, ThreadPoolBuilder, task, tick, time};

use super::{LINE, MS, in_turn};
use crate::race::Plan;
use crate::report::{Judged, Sense, Table};

const MOST: usize = 8;
/// Nothing runs for at most so long.
const STOPS: [Duration; 3] =
    [Duration::from_millis(1), Duration::from_millis(10), Duration::from_millis(100)];
/// Nothing is later than this after a stop.
const LATEST_MS: f64 = 1_000.0;

/// Work that comes, or becomes due, while the pool is stopped. It says when it runs.
const KINDS: [(&str, Start); 5] = [
    ("a job", |pool, ran| pool.spawn(ran)),
    ("a task", |pool, ran| drop(task::spawn_in(&**pool, async move { ran() }))),
    ("a timer", |pool, ran| {
        drop(task::spawn_in(&**pool, async move {
            time::sleep(Duration::from_micros(500)).await;
            ran();
        }));
    }),
    ("a tick", |pool, ran| {
        let mut ran = Some(ran);
        let run = move |_: &mut tick::Context| {
            ran.take().expect("it runs once")();
            tick::Next::Stop
        };
        drop(tick::every(Duration::from_micros(500)).spawn_on(&**pool, run));
    }),
    ("a visit", |pool, ran| {
        let pool = Arc::clone(pool);
        thread::spawn(move || pool.install(ran));
    }),
];

type Ran = Box<dyn FnOnce() + Send>;
type Start = fn(&Arc<ThreadPool>, Ran);

/// How late each kind is after a stop of this length.
fn lateness(pool: &Arc<ThreadPool>, stop: Duration, then: usize) -> [f64; KINDS.len()] {
    pool.set_num_threads(0).expect("a pool may be stopped");
    let receivers = KINDS.map(|(_, start)| {
        let (send, receive) = channel();
        start(pool, Box::new(move || send.send(Instant::now()).expect("somebody waits for it")));
        receive
    });
    thread::sleep(stop);
    let resumed = Instant::now();
    pool.set_num_threads(then).expect("the pool may have so many");
    receivers.map(|receive| {
        let ran = receive.recv().expect("it runs");
        ran.saturating_duration_since(resumed).as_nanos() as f64
    })
}

pub fn table(plan: &mut Plan) -> Table {
    let built = ThreadPoolBuilder::new().num_threads(2).max_num_threads(MOST).guests(true).build();
    let pool = Arc::new(built.expect("a pool can be built"));
    let mut late = [const { Vec::new() }; KINDS.len()];
    for round in 0..plan.rounds(300, 60) as usize {
        let then = 1 + round % MOST;
        for (all, ns) in late.iter_mut().zip(lateness(&pool, STOPS[round % STOPS.len()], then)) {
            all.push(ns / MS);
        }
    }
    let rows = KINDS.iter().zip(late).map(|((name, _), late_ms)| {
        let latest = late_ms.iter().copied().fold(0.0, f64::max);
        in_turn(name, late_ms, vec![(latest, "ms at most", Sense::AtMost, LATEST_MS)])
    });
    let title = format!("what came while no thread ran, up to 100 ms, and then 1 to {MOST} did: lateness");
    Table::with_rows(LINE, title, "ms", Judged::Median, rows.collect())
}
