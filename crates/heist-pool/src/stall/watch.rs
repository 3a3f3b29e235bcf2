//! Who looks: the thread that does so by itself, and whoever asks for a report.

use super::look::History;
use super::shown::{Finding, Report};
use super::{judge, tasks};
use crate::build::BuildError;
use crate::waits::WaitsFor;
use heist_policy::tuning;
use heist_sync::lock_soon;
use heist_sync::process::PerProcess;
// Nothing here is a part of a protocol.
use heist_sync::std_atomic::{AtomicBool, AtomicU64, Ordering};
use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

const LOOK: Duration = Duration::from_nanos(tuning::STALL_LOOK_NS);

/// Somebody looks, or has looked: what only a report needs is kept from then on.
static IS_WATCHED: AtomicBool = AtomicBool::new(false);

/// Whether what only a report needs is to be kept.
#[inline]
pub fn is_watched() -> bool {
    IS_WATCHED.load(Ordering::Relaxed)
}

/// From here on what only a report needs is kept.
pub(super) fn keep() {
    IS_WATCHED.store(true, Ordering::Relaxed);
}

/// Whether stalls are told without a request.
pub fn is_told() -> bool {
    WATCH.get().is_started.load(Ordering::Relaxed)
}

struct Watch {
    /// How long nothing must have gone on, in nanoseconds; `u64::MAX` until somebody says so.
    limit_ns: AtomicU64,
    is_started: AtomicBool,
    seen: Mutex<Seen>,
}

impl Watch {
    const fn new() -> Self {
        let seen = Mutex::new(Seen { history: None, quiet_since: None });
        Self { limit_ns: AtomicU64::new(u64::MAX), is_started: AtomicBool::new(false), seen }
    }
}

struct Seen {
    history: Option<History>,
    /// Since when nothing can happen by itself.
    quiet_since: Option<Instant>,
}

static WATCH: PerProcess<Watch> = PerProcess::new(Watch::new(), Watch::new);

/// What `HEIST_STALL` says, if anything.
fn limit_by_variable() -> Option<Duration> {
    static HAS_WARNED: AtomicBool = AtomicBool::new(false);
    let value = std::env::var_os("HEIST_STALL").filter(|value| !value.is_empty() && value != "0")?;
    let seconds = value.to_str().and_then(|text| text.trim().parse::<f64>().ok());
    let limit =
        seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).filter(|limit| *limit >= LOOK);
    if limit.is_none() && !HAS_WARNED.swap(true, Ordering::Relaxed) {
        heist_sync::warn(format_args!(
            "HEIST_STALL={value:?} is not a number of seconds, of which at least {} can be told; unset it or give one, for example 5",
            LOOK.as_secs_f64()
        ));
    }
    limit
}

/// Whether a pool can be built with that limit.
pub(crate) fn check(stall_after: Option<Duration>) -> Result<(), BuildError> {
    match stall_after {
        Some(limit) if limit < LOOK => Err(BuildError::BadValue(format!(
            "stall_after({limit:?}) is less than can be told, which is {LOOK:?}; give more, for example 5 s"
        ))),
        _ => Ok(()),
    }
}

/// A pool was built, which is to be watched for stalls of that length. If it asks for it, or the environment does, somebody watches from here on.
pub(crate) fn start(after: Option<Duration>) {
    let Some(limit) = after.or_else(limit_by_variable) else { return };
    let watch = WATCH.get();
    keep();
    watch.limit_ns.fetch_min(u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX - 1), Ordering::Relaxed);
    if watch.is_started.swap(true, Ordering::Relaxed) {
        return;
    }
    if let Err(error) = heist_sync::start_thread("heist-stall", Box::new(|| run(watch))) {
        watch.is_started.store(false, Ordering::Relaxed);
        heist_sync::warn(format_args!(
            "stalls are not watched for: the thread for it could not be started ({error})"
        ));
    }
}

/// The thread that watches.
fn run(watch: &'static Watch) {
    let mut told = Vec::new();
    let mut told_at: Option<Instant> = None;
    loop {
        let limit = Duration::from_nanos(watch.limit_ns.load(Ordering::Relaxed));
        let period = (limit / tuning::STALL_LOOKS).min(Duration::from_nanos(tuning::STALL_LOOK_MOST_NS));
        std::thread::sleep(period);
        let report = look(limit, limit);
        let stalls: Vec<_> = report.findings.iter().filter(|finding| finding.is_stall()).map(key).collect();
        let is_news = stalls.iter().any(|stall| !told.contains(stall));
        if !is_news {
            told = stalls;
        } else if told_at.is_none_or(|at| at.elapsed() >= limit) {
            heist_sync::warn(format_args!("{report}"));
            (told, told_at) = (stalls, Some(Instant::now()));
        }
    }
}

/// What stays the same of a finding for as long as it lasts.
fn key(finding: &Finding) -> Finding {
    match finding.clone() {
        Finding::Asleep { pool, thread, .. } => Finding::Asleep { pool, thread, at_least: Duration::ZERO },
        Finding::AllBlocked { pool, .. } => Finding::AllBlocked { pool, jobs: 0, tasks: 0 },
        Finding::AllAsleep { .. } => Finding::AllAsleep { tasks: 0, without_waker: 0 },
        // Which comes first in a circle is chance.
        Finding::Cycle(mut nodes) => {
            nodes.sort_unstable_by_key(|node| format!("{node:?}"));
            Finding::Cycle(nodes)
        }
        other => other,
    }
}

/// What all pools, threads, tasks and ticks are doing now, and what is wrong: see [`Report`].
///
/// It looks twice, a tenth of a second apart, to see which threads go on. It can be called anywhere and at any time, also while everything
/// else hangs: it stops nobody, and waits for no lock that a thread could hold while it is stuck.
///
/// ```
/// let report = heist::stall::report();
/// assert!(!report.is_stalled(), "{report}");
/// ```
pub fn report() -> Report {
    keep();
    let begun = Instant::now();
    let _ = look(Duration::ZERO, Duration::ZERO);
    std::thread::sleep(LOOK.saturating_sub(begun.elapsed()));
    let limit_ns = WATCH.get().limit_ns.load(Ordering::Relaxed).min(tuning::STALL_LONG_NS);
    look(LOOK / 2, Duration::from_nanos(limit_ns))
}

/// Looks at everything. What has lasted for `limit` is told; what computes, if it has for `long`.
fn look(limit: Duration, long: Duration) -> Report {
    let mut unknown = Vec::new();
    let pools = crate::global::try_all().unwrap_or_else(|| {
        unknown.push("the pools");
        Vec::new()
    });
    let mut fresh = Seen { history: None, quiet_since: None };
    let mut kept = lock_soon(|| WATCH.get().seen.try_lock());
    if kept.is_none() {
        unknown.push("what threads did before");
    }
    let seen = kept.as_deref_mut().unwrap_or(&mut fresh);
    let mut reports = seen.history.get_or_insert_default().look(&pools, &mut unknown);
    let tasks_now = tasks::get().map(|tasks| {
        (tasks.now)().unwrap_or_else(|| {
            unknown.push("the tasks");
            Vec::new()
        })
    });
    let tasks_now = tasks_now.unwrap_or_default();
    let calls = tasks::get().map(|tasks| {
        (tasks.calls)().unwrap_or_else(|| {
            unknown.push("the blocking calls");
            Vec::new()
        })
    });
    let calls = calls.unwrap_or_default();
    let by_address: HashMap<u64, u64> = tasks_now.iter().map(|task| (task.address as u64, task.id)).collect();
    for thread in reports.iter_mut().flat_map(|pool| &mut pool.threads) {
        thread.task = thread.task.and_then(|address| by_address.get(&address).copied());
    }
    let blocks = |pool: &super::PoolReport| {
        pool.threads.iter().filter(|thread| thread.waits_for == WaitsFor::Future).count()
    };
    let blocked_on =
        tasks::get().map_or(0, |tasks| (tasks.blocked_on)()) + reports.iter().map(blocks).sum::<usize>();
    let are_quiet = tasks::get().is_some_and(|tasks| (tasks.are_quiet)())
        && blocked_on > 0
        && pools.iter().all(|pool| pool.threads().is_quiescent(pool));
    let quiet_since = are_quiet.then(|| seen.quiet_since.unwrap_or_else(Instant::now));
    seen.quiet_since = quiet_since;
    drop(kept);
    let is_quiet = quiet_since.is_some_and(|since| since.elapsed() >= limit);
    let mut findings = judge::judge(&reports, &tasks_now, is_quiet, limit);
    findings.retain(|finding| !matches!(finding, Finding::LongRunning { at_least, .. } if *at_least < long));
    Report { findings, pools: reports, tasks: tasks_now, calls, unknown }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;
    use crate::stall::shown::{Node, PoolId};

    #[test]
    fn a_finding_that_lasts_is_the_same() {
        let asleep = |s| Finding::Asleep { pool: PoolId(16), thread: 3, at_least: Duration::from_secs(s) };
        assert_eq!(key(&asleep(5)), key(&asleep(6)));
        let cycle = |nodes: [u64; 2]| Finding::Cycle(nodes.map(Node::Task).to_vec());
        assert_eq!(key(&cycle([1, 2])), key(&cycle([2, 1])));
        assert_ne!(key(&Finding::NobodyWakes { task: 1 }), key(&Finding::NobodyWakes { task: 2 }));
    }

    #[test]
    fn a_limit_that_cannot_be_told_is_an_error() {
        assert!(check(None).is_ok() && check(Some(Duration::from_secs(5))).is_ok());
        assert!(matches!(check(Some(Duration::ZERO)), Err(BuildError::BadValue(_))));
    }

    #[test]
    fn a_busy_lock_is_given_up() {
        let busy = heist_sync::Mutex::new(0);
        let guard = heist_sync::lock(&busy);
        assert!(lock_soon(|| busy.try_lock()).is_none());
        drop(guard);
        assert!(lock_soon(|| busy.try_lock()).is_some());
    }
}
