//! What this machine costs: a strand's own overhead, and a half that another thread takes.

use super::frame::Frame;
use crate::pool::Config;
use crate::queues::job::{JobRef, heap_job};
use crate::threads::ThreadStart;
use heist_policy::tuning;
use heist_sync::StdArc as Arc;
use heist_sync::clock::Moment;
use heist_sync::process::PerProcess;
use heist_sync::std_atomic::{AtomicU64, Ordering};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// In the clock's unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs {
    /// How much of each strand is the profile's own doing.
    pub overhead: u64,
    /// From the moment at which a job is there until a thread that searches has begun it,
    pub steal: u64,
    /// and until one that sleeps has.
    pub wake: u64,
}

impl Costs {
    /// Those of a test.
    pub fn of(burden: u64) -> Self {
        Self { overhead: 0, steal: 0, wake: burden }
    }

    /// What a half costs that another thread takes: somebody is woken for it, and the result comes back.
    pub fn burden(self) -> u64 {
        self.steal + self.wake
    }
}

/// As measured once in each process.
pub(super) fn costs() -> Costs {
    static COSTS: PerProcess<OnceLock<Costs>> = PerProcess::new(OnceLock::new(), OnceLock::new);
    *COSTS.get().get_or_init(|| {
        let (steal, wake) = migrations();
        Costs { overhead: overhead(), steal, wake }
    })
}

fn median(mut all: Vec<u64>) -> u64 {
    all.sort_unstable();
    all[all.len() / 2]
}

/// The counter itself, whatever clock others measure with.
fn ticks() -> u64 {
    Moment::now().ticks()
}

/// What a strand costs in which nothing happens.
fn overhead() -> u64 {
    const FORKS: usize = 64;
    const ROUNDS: usize = 15;
    /// Not inlined, as in the slow paths.
    #[inline(never)]
    fn step(frame: &mut Frame, step: impl FnOnce(&mut Frame, u64)) {
        let now = ticks();
        step(frame, now);
    }
    let round = |_| {
        let mut frame = Frame::new(0, 0);
        let since = ticks();
        frame.resume(since);
        for slot in 1..=FORKS {
            step(&mut frame, |frame, now| frame.fork(slot, 1, now, now));
            step(&mut frame, |frame, now| {
                frame.end_first(slot, now);
                frame.resume(now);
            });
            step(&mut frame, |frame, now| frame.end_second(slot, now));
        }
        ticks().saturating_sub(since) / (3 * FORKS as u64)
    };
    median((0..ROUNDS).map(round).collect())
}

/// What it takes until a thread that searches, and one that sleeps, begins a job. In a pool of its own: the program's may be busy.
fn migrations() -> (u64, u64) {
    let guess = || (ticks_in(tuning::PROFILE_STEAL_NS), ticks_in(tuning::PROFILE_WAKE_NS));
    let config = Config { parallelism: 1, os_hints: Some(false), is_hidden: true, ..Config::default() };
    let Ok(pool) = config.build(ThreadStart::spawn) else { return guess() };
    let (mut steals, mut wakes) = (Vec::new(), Vec::new());
    for _ in 0..tuning::PROFILE_ROUNDS {
        wait_until(|| pool.threads().is_quiescent(&pool));
        wakes.extend(latency(|job| pool.inject(job)));
        // It has just ended one, and searches.
        steals.extend(latency(|job| pool.inject(job)));
    }
    pool.close();
    if steals.is_empty() || wakes.is_empty() { guess() } else { (median(steals), median(wakes)) }
}

/// How far the counter goes in that time.
fn ticks_in(ns: u64) -> u64 {
    let (at, since) = (Instant::now(), ticks());
    std::thread::sleep(Duration::from_millis(1));
    let counted = u128::from(ticks().saturating_sub(since)) * u128::from(ns);
    (counted / at.elapsed().as_nanos().max(1)) as u64
}

/// How long it takes until a job begins that is queued now.
fn latency(inject: impl FnOnce(JobRef)) -> Option<u64> {
    let begun = Arc::new(AtomicU64::new(0));
    let there = Arc::clone(&begun);
    let since = ticks();
    // SAFETY: it does not unwind and borrows nothing.
    inject(unsafe { heap_job(move || there.store(ticks().max(1), Ordering::Release), std::ptr::null()) });
    wait_until(|| begun.load(Ordering::Acquire) != 0);
    match begun.load(Ordering::Acquire) {
        0 => None,
        begun => Some(begun.saturating_sub(since)),
    }
}

/// Waits for a moment at most.
fn wait_until(is_so: impl Fn() -> bool) {
    const MOST: Duration = Duration::from_millis(2);
    let since = Instant::now();
    while !is_so() && since.elapsed() < MOST {
        std::thread::yield_now();
    }
}
