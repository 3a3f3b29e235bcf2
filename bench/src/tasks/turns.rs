//! The price of a turn: tasks that yield, wake each other, or spawn their successor. After the benchmarks that tokio
//! judges its own scheduler by.

use std::sync::mpsc::{SyncSender, sync_channel};

use tokio::sync::oneshot;

use super::figures::{Limit, both, compare};
use super::runtime::Runtime;
use crate::race::Plan;
use crate::report::Row;
use crate::visit::repeat;

const YIELDING: usize = 200;
const YIELDS: usize = 1_000;
/// More than a queue of 256 holds, as tokio's is.
const CROWD: usize = 1_000;
const CROWD_YIELDS: usize = 200;
const PINGS: usize = 1_000;
const LINKS: usize = 1_000;

/// Of tokio.
const YIELD_MAX: f64 = 1.0;
const CROWD_YIELD_MAX: f64 = 1.05;
const PING_MAX: f64 = 0.6;
const CHAIN_MAX: f64 = 0.6;

pub fn rows(plan: &mut Plan) -> Vec<Row> {
    let rounds = plan.rounds(15, 5);
    let mut rows = Vec::new();
    if plan.wants_row("yield_many") {
        let turns = (YIELDING * YIELDS) as u64;
        let series = both!(plan, rounds, |R| repeat(3, 1, || yields::<R>(YIELDING, YIELDS)).per(turns));
        rows.push(compare("yield_many", series, &[Limit::Ratio(YIELD_MAX)]));
    }
    if plan.wants_row("yield among 1,000 tasks") {
        let turns = (CROWD * CROWD_YIELDS) as u64;
        let series = both!(plan, rounds, |R| repeat(3, 1, || yields::<R>(CROWD, CROWD_YIELDS)).per(turns));
        rows.push(compare("yield among 1,000 tasks", series, &[Limit::Ratio(CROWD_YIELD_MAX)]));
    }
    if plan.wants_row("ping_pong") {
        let series = both!(plan, rounds, |R| repeat(10, 1, || pings::<R>(PINGS)).per(PINGS as u64));
        rows.push(compare("ping_pong", series, &[Limit::Ratio(PING_MAX)]));
    }
    if plan.wants_row("chained_spawn") {
        let series = both!(plan, rounds, |R| repeat(10, 1, || chained::<R>(LINKS)).per(LINKS as u64));
        rows.push(compare("chained_spawn", series, &[Limit::Ratio(CHAIN_MAX)]));
    }
    rows
}

fn yields<R: Runtime>(tasks: usize, times: usize) -> usize {
    let (done, ended) = sync_channel(tasks);
    R::block_on(async {
        for _ in 0..tasks {
            let done = done.clone();
            drop(R::spawn(async move {
                for _ in 0..times {
                    R::yield_now().await;
                }
                done.send(()).expect("somebody waits for every task");
            }));
        }
        (0..tasks).map(|_| ended.recv().expect("every task tells")).count()
    })
}

/// Pairs of tasks, each of which exchange two messages.
fn pings<R: Runtime>(pairs: usize) -> usize {
    let (done, ended) = sync_channel(pairs);
    R::block_on(async {
        drop(R::spawn(async move {
            for _ in 0..pairs {
                let done = done.clone();
                drop(R::spawn(async move {
                    let (ping, pinged) = oneshot::channel();
                    let (pong, ponged) = oneshot::channel();
                    drop(R::spawn(async move {
                        pinged.await.expect("the ping comes");
                        pong.send(()).expect("somebody waits for the pong");
                    }));
                    ping.send(()).expect("somebody waits for the ping");
                    ponged.await.expect("the pong comes");
                    done.send(()).expect("somebody waits for every pair");
                }));
            }
        }));
        (0..pairs).map(|_| ended.recv().expect("every pair tells")).count()
    })
}

fn chained<R: Runtime>(links: usize) -> usize {
    let (done, ended) = sync_channel(1);
    R::block_on(async {
        drop(R::spawn(async move { link::<R>(links, done) }));
        ended.recv().expect("the last link tells");
    });
    links
}

fn link<R: Runtime>(left: usize, done: SyncSender<()>) {
    if left == 0 {
        done.send(()).expect("somebody waits for the last link");
    } else {
        drop(R::spawn(async move { link::<R>(left - 1, done) }));
    }
}
