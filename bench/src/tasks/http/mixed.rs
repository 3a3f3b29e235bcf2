//! 2,000 requests a second, of which one in a hundred computes for 20 ms: what of the others?
//!
//! Requests come by the clock, whether or not earlier ones are answered, and the latency counts from when a request
//! was due: a generator that waits for a slow server does not flatter it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::LINE;
use super::server::{INLINE, SPLIT};
use crate::args::Async;
use crate::race::{Plan, Race, Series};
use crate::report::{Bar, Judged, Row, Sense, Table};
use crate::tasks::figures::{Figures, Limit, compare_by, quantile};
use crate::tasks::load::{self, Connections};
use crate::tasks::serve::{Server, Service};
use crate::visit::Visit;

const CONNECTIONS: usize = 64;
const GAP: Duration = Duration::from_micros(500);
const HEAVY_SHARE: f64 = 0.01;
const TIME: Duration = Duration::from_secs(2);
/// For the last replies.
const PATIENCE: Duration = Duration::from_secs(5);
const MS: f64 = 1e6;

const INLINE_P99_MAX_MS: f64 = 0.6;
const SPLIT_P99_MAX_MS: f64 = 2.0;

pub fn tables(plan: &mut Plan) -> Option<Table> {
    let mut rows = Vec::new();
    let mut inline = None;
    if plan.wants_row("mixed inline") {
        let outcome = run(plan, INLINE);
        rows.extend(outcome.rows("mixed inline", Limit::Figure(INLINE_P99_MAX_MS)));
        inline = outcome.heist_heavy();
    }
    if plan.wants_row("mixed par_iter") {
        let outcome = run(plan, SPLIT);
        let mut split = outcome.rows("mixed par_iter", Limit::Figure(SPLIT_P99_MAX_MS));
        if let (Some(inline), Some(parallel)) = (inline, outcome.heist_heavy()) {
            let heavy = split.last_mut().expect("the row of the heavy requests is the last");
            let (measured, what) = (parallel / inline, "x heist on one core".into());
            heavy.bars.push(Bar { measured, what, sense: Sense::Below, limit: 1.0 });
        }
        rows.extend(split);
    }
    let title = "2,000 requests/s, 1 % compute for 20 ms; the generator on the same cores";
    (!rows.is_empty()).then(|| Table::with_rows(LINE, title, "ms", Judged::Median, rows))
}

/// One sample a round: quantiles of the latencies.
#[derive(Default)]
struct Outcome {
    light_p99: Vec<Series>,
    /// What is left of a host that takes the cores away for more than a hundredth of the time.
    light_p95: Vec<Series>,
    light_p50: Vec<Series>,
    /// From when the request was sent.
    service_p99: Vec<Series>,
    heavy_p50: Vec<Series>,
}

impl Outcome {
    fn rows(&self, name: &str, limit: Limit) -> Vec<Row> {
        let row = |what: &str, series: &[Series], limit: Limit| {
            compare_by(&format!("{name}, {what}"), series, &[limit], |series| Figures::of(series, MS))
        };
        vec![
            row("light p99", &self.light_p99, limit),
            row("light p95", &self.light_p95, Limit::None),
            row("light p50", &self.light_p50, Limit::None),
            row("light p99 since sent", &self.service_p99, Limit::None),
            row("heavy p50", &self.heavy_p50, Limit::None),
        ]
    }

    fn heist_heavy(&self) -> Option<f64> {
        self.heavy_p50.iter().find(|series| series.name == "heist").map(Series::median_ns)
    }
}

fn run(plan: &mut Plan, heavy_path: &'static str) -> Outcome {
    let rounds: Vec<RefCell<Vec<Latencies>>> = Async::ALL.iter().map(|_| RefCell::default()).collect();
    let mut race = Race::new();
    for (runtime, rounds) in Async::ALL.iter().zip(&rounds) {
        let server = Server::start(Service::Http, *runtime);
        race.enter(runtime.word(), move || {
            // The same requests for both in each round.
            let seed = rounds.borrow().len() as u64;
            let latencies = open_loop(&server, heavy_path, seed);
            rounds.borrow_mut().push(latencies);
            Visit { value: (), samples_ns: Vec::new() }
        });
    }
    race.run(plan.rounds(7, 2), &mut plan.rng);

    let mut outcome = Outcome::default();
    for (runtime, rounds) in Async::ALL.iter().zip(rounds) {
        // As in other races, the first round does not count.
        let rounds = rounds.into_inner().split_off(1);
        let series = |figure: &dyn Fn(&Latencies) -> f64| Series {
            name: runtime.word().into(),
            samples_ns: rounds.iter().map(figure).collect(),
        };
        outcome.light_p99.push(series(&|round| quantile(&round.light_ns, 0.99)));
        outcome.light_p95.push(series(&|round| quantile(&round.light_ns, 0.95)));
        outcome.light_p50.push(series(&|round| quantile(&round.light_ns, 0.5)));
        outcome.service_p99.push(series(&|round| quantile(&round.light_since_sent_ns, 0.99)));
        outcome.heavy_p50.push(series(&|round| quantile(&round.heavy_ns, 0.5)));
    }
    outcome
}

/// Of one round.
#[derive(Default)]
struct Latencies {
    light_ns: Vec<f64>,
    light_since_sent_ns: Vec<f64>,
    heavy_ns: Vec<f64>,
}

#[derive(Clone, Copy)]
struct Due {
    at: Instant,
    is_heavy: bool,
}

/// Of a connection that waits for a reply.
#[derive(Clone, Copy)]
struct Sent {
    due: Due,
    at: Instant,
}

fn open_loop(server: &Server, heavy_path: &str, seed: u64) -> Latencies {
    let request = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: bench\r\n\r\n").into_bytes();
    let (light, heavy) = (request("/"), request(heavy_path));
    let reply_len = load::reply_len(server.address, &light);
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut connections = Connections::open(server.address, CONNECTIONS);
    let mut sent: Vec<Option<Sent>> = vec![None; CONNECTIONS];
    let mut free: VecDeque<usize> = (0..CONNECTIONS).collect();
    let mut backlog = VecDeque::new();
    let mut latencies = Latencies::default();

    let start = Instant::now();
    let end = start + TIME;
    let mut next = start;
    while next < end || !backlog.is_empty() || free.len() < CONNECTIONS {
        assert!(start.elapsed() < TIME + PATIENCE, "the server does not answer any more");
        while next < end && next <= Instant::now() {
            backlog.push_back(Due { at: next, is_heavy: rng.f64() < HEAVY_SHARE });
            next += GAP;
        }
        while let (false, Some(&number)) = (backlog.is_empty(), free.front()) {
            let due: Due = backlog.pop_front().expect("the backlog is not empty");
            free.pop_front();
            sent[number] = Some(Sent { due, at: Instant::now() });
            connections.send(number, if due.is_heavy { &heavy } else { &light });
        }
        connections.set_alarm(if next < end { next } else { start + TIME + PATIENCE });
        connections.replies(reply_len, |_, number| {
            let now = Instant::now();
            let Sent { due, at } = sent[number].take().expect("only a request has a reply");
            let ns = |since: Instant| now.duration_since(since).as_nanos() as f64;
            if due.is_heavy {
                latencies.heavy_ns.push(ns(due.at));
            } else {
                latencies.light_ns.push(ns(due.at));
                latencies.light_since_sent_ns.push(ns(at));
            }
            free.push_back(number);
        });
    }
    latencies
}
