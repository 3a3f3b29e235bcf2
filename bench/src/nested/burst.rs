//! Many jobs that wait for another pool and all come back at once: how many of them run then?
//!
//! A wait for another pool lends its place to somebody else. When all waits end at the same moment, more threads
//! want to go on than the pool has workers.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::running::Running;
use super::shape::Around;
use crate::churn::churn;
use crate::peers::Backend;

pub const JOBS: usize = 256;
/// Of the work that each job has after its wait: longer than the kernel leaves a core to one thread, or else those that
/// may run at once would do so one after the other.
const AFTER: Duration = Duration::from_millis(5);
/// They differ much from one to the next.
const BURSTS: usize = 3;
/// The gate opens when so long no job has come to it: a runtime need not let all of them wait.
const NO_MORE: Duration = Duration::from_millis(300);

#[derive(Serialize, Deserialize)]
pub struct Burst {
    /// How many waited when the gate opened, at most.
    pub waiting: usize,
    /// How many ran at once afterwards, at most, in the worst burst.
    pub running: usize,
}

#[derive(Default)]
struct Gate {
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn pass(&self) {
        let mut is_open = self.is_open.lock().expect("nobody panics at the gate");
        while !*is_open {
            is_open = self.opened.wait(is_open).expect("nobody panics at the gate");
        }
    }

    fn open(&self) {
        *self.is_open.lock().expect("nobody panics at the gate") = true;
        self.opened.notify_all();
    }
}

/// The highest figures of all bursts.
pub fn run<B: Backend>(workers: usize) -> Burst {
    (0..BURSTS).map(|_| once::<B>(workers)).fold(Burst { waiting: 0, running: 0 }, |worst, burst| Burst {
        waiting: worst.waiting.max(burst.waiting),
        running: worst.running.max(burst.running),
    })
}

fn once<B: Backend>(workers: usize) -> Burst {
    let pool = B::pool(workers);
    // A thread for each, so that it is not the other pool that keeps them apart.
    let other = Arc::new(B::pool(JOBS));
    let running = Arc::new(Running::default());
    let gate = Arc::new(Gate::default());
    let (arrive, arrivals) = channel();
    let (done, ended) = channel::<u64>();
    for seed in 0..JOBS as u64 {
        let (other, running, gate) = (Arc::clone(&other), Arc::clone(&running), Arc::clone(&gate));
        let (arrive, done) = (arrive.clone(), done.clone());
        B::spawn(&pool, move || {
            B::install(&other, || {
                arrive.send(()).expect("somebody counts the arrivals");
                gate.pass();
            });
            let result = running.leaf(|| {
                let start = Instant::now();
                let mut sum = 0;
                while start.elapsed() < AFTER {
                    sum ^= churn(seed, 1_000);
                }
                sum
            });
            done.send(result).expect("somebody waits for every job");
        });
    }
    drop((arrive, done));
    let mut waiting = 0;
    while waiting < JOBS {
        match arrivals.recv_timeout(NO_MORE) {
            Ok(()) => waiting += 1,
            Err(RecvTimeoutError::Timeout) => break,
            Err(RecvTimeoutError::Disconnected) => unreachable!("jobs wait at the gate"),
        }
    }
    gate.open();
    assert_eq!(ended.iter().count(), JOBS, "every job ends");
    Burst { waiting, running: running.peak() }
}
