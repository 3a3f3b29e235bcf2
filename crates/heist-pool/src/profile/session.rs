//! One profile, from its beginning to its end.

use super::SESSIONS;
use super::calibrate::{self, Costs};
use super::clock::{self, Clock, stamp};
use super::frame::{Frame, Outcome};
use super::meter::{self, Running, new_frame};
use super::sums::{Path, Sums};
use super::totals::{self, RunsSeen, Seen};
use crate::global;
use crate::metrics::Histogram;
use crate::monitor::Watched;
use crate::pool::Pool;
use crate::queues::forks::hot;
use crate::queues::job::halt_unwinding;
use crate::worker::Worker;
use heist_sync::StdArc as Arc;
use heist_sync::process::{self, Origin, PerProcess};
use heist_sync::std_atomic::{AtomicBool, Ordering};
use heist_trace::profile::{Figures, Part, Runs, Site, Waited};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A profile with one clock is refused while another is taken with another clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AnotherClock;

/// How many sessions there are with the clock that is set.
static BY_CLOCK: PerProcess<Mutex<u32>> = PerProcess::new(Mutex::new(0), || Mutex::new(0));

fn by_clock() -> MutexGuard<'static, u32> {
    BY_CLOCK.get().lock().unwrap_or_else(PoisonError::into_inner)
}

/// The clock is set, and measured.
struct Ticking(Origin);

/// In a child of a fork no profile is taken: whoever took one may not be there.
extern "C" fn end_in_child() {
    SESSIONS.store(0, Ordering::Relaxed);
}

impl Ticking {
    fn start(clock: Option<&'static dyn Clock>) -> Result<(Self, Costs), AnotherClock> {
        // Outside of the lock: it takes a moment, and threads.
        let costs = clock.map_or_else(calibrate::costs, |clock| Costs::of(clock.burden()));
        let mut sessions = by_clock();
        let is_same = match (clock, clock::injected()) {
            (None, None) => true,
            (Some(clock), Some(injected)) => std::ptr::addr_eq(clock, injected),
            _ => false,
        };
        if *sessions > 0 && !is_same {
            return Err(AnotherClock);
        }
        if *sessions == 0 {
            static IS_WATCHED: AtomicBool = AtomicBool::new(false);
            // Under the lock, so once.
            if !IS_WATCHED.swap(true, Ordering::Relaxed) {
                process::at_fork(end_in_child);
            }
            totals::forget_longest();
        }
        if !is_same {
            clock::inject(clock);
        }
        clock::set_costs(costs.overhead, costs.burden());
        *sessions += 1;
        SESSIONS.fetch_add(1, Ordering::Relaxed);
        let pools = (*sessions == 1).then(|| tell_pools(true));
        drop(sessions);
        // Not under the lock: the last reference to a pool may be among these.
        drop(pools);
        Ok((Self(Origin::here()), costs))
    }
}

impl Drop for Ticking {
    fn drop(&mut self) {
        if self.0.is_foreign() {
            return;
        }
        let mut sessions = by_clock();
        SESSIONS.fetch_sub(1, Ordering::Relaxed);
        *sessions -= 1;
        let pools = (*sessions == 0).then(|| tell_pools(false));
        drop(sessions);
        drop(pools);
    }
}

/// From here on the pools look when tasks become ready, or do not. For whoever has the lock.
fn tell_pools(is_on: bool) -> Vec<Arc<Pool>> {
    let pools = global::all();
    pools.iter().for_each(|pool| pool.watched().set_profiled(is_on));
    pools
}

/// The pool is in the list of all: it does as they do.
pub(crate) fn join_all(pool: &Watched) {
    let sessions = by_clock();
    pool.set_profiled(*sessions > 0);
}

/// In the few numbers that are shown.
fn waited(histogram: &Histogram) -> Waited {
    Waited {
        count: histogram.count(),
        mean_ns: histogram.mean(),
        p50_ns: histogram.quantile(0.5),
        p99_ns: histogram.quantile(0.99),
        longest_ns: histogram.max(),
    }
}

/// What is remembered from the beginning of a profile.
pub(super) struct Begun {
    _ticking: Ticking,
    costs: Costs,
    at: Instant,
    stamp: u64,
    seen: Seen,
}

impl Begun {
    pub fn now(clock: Option<&'static dyn Clock>) -> Result<Self, AnotherClock> {
        let (ticking, costs) = Ticking::start(clock)?;
        Ok(Self { _ticking: ticking, costs, at: Instant::now(), stamp: stamp(), seen: Seen::now() })
    }

    pub fn stamp(&self) -> u64 {
        self.stamp
    }

    /// In nanoseconds, what was measured since.
    pub fn figures(&self, sums: &Sums, path: Path, outside: u64) -> Figures {
        let elapsed_ns = self.at.elapsed().as_nanos() as u64;
        let ticks = stamp().saturating_sub(self.stamp);
        // The counter's rate, over all of that time. An injected clock counts nanoseconds.
        let rate = match clock::injected() {
            None if ticks > 0 => elapsed_ns as f64 / ticks as f64,
            _ => 1.0,
        };
        let ns = |ticks: u64| (ticks as f64 * rate).round() as u64;
        let runs = |runs: RunsSeen| Runs {
            count: runs.count,
            ns: ns(runs.time),
            longest_ns: ns(runs.longest),
            wakes: runs.wakes,
            self_wakes: runs.self_wakes,
            waited: waited(&runs.waited_ns),
        };
        let seen = Seen::now().since(&self.seen);
        let pool = Worker::current().map(Worker::pool).or_else(|| global::started());
        let site = |site: &super::sums::Site| {
            let (file, code) = heist_os::file_of_code(site.code).unzip();
            Site {
                code: code.unwrap_or(site.code as u64),
                file: file.map(|file| file.to_string_lossy().into_owned()),
                name: None,
                forks: site.forks,
                stolen: site.stolen,
                work_ns: ns(site.work),
            }
        };
        let part = |part: &super::sums::Part| Part {
            name: part.name.into(),
            times: part.times,
            work_ns: ns(part.work),
            span_ns: ns(part.path.span),
        };
        Figures {
            work_ns: ns(sums.work),
            span_ns: ns(path.span),
            burdened_ns: ns(path.burdened),
            elapsed_ns,
            outside_ns: ns(outside),
            workers: pool.map_or(1, |pool| pool.active().max(1)),
            forks: sums.forks,
            stolen: sums.stolen,
            pieces: sums.pieces + 1,
            steals: seen.steals,
            tries: seen.tries,
            searching_ns: seen.searching_ns,
            waiting_ns: seen.waiting_ns,
            steal_ns: ns(self.costs.steal),
            wake_ns: ns(self.costs.wake),
            polls: runs(seen.polls),
            ticks: runs(seen.ticks),
            sites: sums.sites.iter().filter(|site| site.forks > 0).map(site).collect(),
            parts: sums.parts.iter().map(part).collect(),
        }
    }
}

/// A profile of what the calling thread runs.
struct Session {
    begun: Begun,
    running: Running,
    frame: *mut Frame,
    /// It is in no other one.
    is_outermost: bool,
}

impl Session {
    fn begin(clock: Option<&'static dyn Clock>) -> Result<Self, AnotherClock> {
        // Before the costs are measured, which takes a pool: its build would start that one in the middle of this.
        super::start();
        let begun = Begun::now(clock)?;
        let is_outermost = !hot().is_metered();
        if is_outermost {
            totals::begin_call(stamp());
        }
        let frame = Box::into_raw(Box::new(new_frame(0)));
        // SAFETY: freed in `end`, and not before.
        let running = unsafe { Running::begin(frame) };
        Ok(Self { begun, running, frame, is_outermost })
    }

    fn end(self) -> Figures {
        self.running.end();
        // SAFETY: made in `begin`, and nobody has it any more.
        let outcome: Outcome = unsafe { Box::from_raw(self.frame) }.end();
        // One that is taken inside of another is a part of it, and all are of that of the process.
        if self.is_outermost {
            totals::end_call(&outcome, stamp());
        } else {
            meter::append(&outcome);
        }
        self.begun.figures(&outcome.sums, outcome.path, 0)
    }
}

/// Runs `f` on the calling thread and measures it, with all that it forks.
///
/// # Panics
/// A panic of `f` goes on here.
pub fn measure<R>(f: impl FnOnce() -> R) -> Result<(R, Figures), AnotherClock> {
    measured_by(None, f)
}

/// As [`measure`], with another clock.
pub fn measure_with<R>(
    clock: &'static dyn Clock,
    f: impl FnOnce() -> R,
) -> Result<(R, Figures), AnotherClock> {
    measured_by(Some(clock), f)
}

fn measured_by<R>(
    clock: Option<&'static dyn Clock>,
    f: impl FnOnce() -> R,
) -> Result<(R, Figures), AnotherClock> {
    let session = Session::begin(clock)?;
    let result = halt_unwinding(f);
    let figures = session.end();
    match result {
        Ok(result) => Ok((result, figures)),
        Err(payload) => std::panic::resume_unwind(payload),
    }
}
