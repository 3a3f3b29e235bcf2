//! What is left is named: jobs and calls that block or compute, not only tasks, by where they were called and since when.
//!
//! Public bugs of this kind: every service whose shut-down hung with a count of threads and no word on what they did.

use crate::rig::gate::Gate;
use crate::rig::pool::pool;
use crate::rig::watchdog::watch;
use heist::task::{CallInfo, CallKind, dump_calls};
use heist::{Report, ThreadInfo, ThreadPool, ThreadState, block_on, task};
use std::time::Duration;

/// A closure that says when it runs, and runs until it is told not to.
#[derive(Clone, Default)]
struct Stuck {
    runs: Gate,
    go: Gate,
}

impl Stuck {
    fn run(&self) {
        self.runs.open();
        self.go.block();
    }

    fn closure(&self) -> impl FnOnce() + Send + 'static {
        let stuck = self.clone();
        move || stuck.run()
    }
}

/// Shuts the pool down while `stuck` runs, and then lets that go.
fn report(pool: ThreadPool, stuck: &Stuck) -> Report {
    stuck.runs.block();
    let report = pool.shutdown_within(Duration::from_millis(20)).unwrap();
    stuck.go.open();
    assert!(!report.is_complete);
    report
}

fn is_at(call: &CallInfo, line: u32) -> bool {
    call.site().file() == file!() && call.site().line() == line
}

/// The one thread whose call is at `line`.
fn thread_at(report: &Report, line: u32) -> &ThreadInfo {
    let mut at = report.workers.iter().filter(|thread| thread.call().is_some_and(|call| is_at(call, line)));
    let found = at.next().unwrap_or_else(|| panic!("no thread at line {line}: {report}"));
    assert!(at.next().is_none(), "{report}");
    assert!(report.to_string().contains(&format!("{}:{line}:", file!())), "{report}");
    found
}

#[track_caller]
fn check(thread: &ThreadInfo, state: ThreadState, kind: CallKind) {
    assert_eq!(thread.state(), state, "{thread}");
    assert!(thread.name().unwrap().starts_with("heist-"), "{thread}");
    let call = thread.call().unwrap();
    assert_eq!(call.kind(), kind, "{thread}");
    assert!(call.is_running());
    assert!(call.since() < Duration::from_secs(60), "{thread}");
}

#[test]
fn a_job_is_named() {
    let _watch = watch!();
    for fifo in [false, true] {
        let (pool, stuck) = (pool(2), Stuck::default());
        let line = if fifo {
            pool.spawn_fifo(stuck.closure());
            line!() - 1
        } else {
            pool.spawn(stuck.closure());
            line!() - 1
        };
        let report = report(pool, &stuck);
        check(thread_at(&report, line), ThreadState::Job, CallKind::Job);
        assert!(report.tasks.is_empty() && report.calls.is_empty(), "{report}");
        assert!(report.threads >= 1);
        let text = report.to_string();
        assert!(text.contains("runs a job: job running for"), "{text}");
    }
}

/// The name goes with the job: the thread that ran it has none after.
#[test]
fn a_job_that_is_over_is_not_named() {
    let _watch = watch!();
    let (pool, stuck) = (pool(1), Stuck::default());
    let over_line = line!() + 1;
    pool.spawn(|| ());
    pool.spawn_fifo(|| std::panic::resume_unwind(Box::new("as the test asks")));
    let line = line!() + 1;
    pool.spawn(stuck.closure());
    stuck.runs.block();
    let calls = dump_calls();
    assert!(calls.iter().any(|call| is_at(call, line) && call.kind() == CallKind::Job));
    assert!(!calls.iter().any(|call| is_at(call, over_line) || is_at(call, over_line + 1)));
    stuck.go.open();
    pool.shutdown().unwrap();
    assert!(!dump_calls().iter().any(|call| is_at(call, line)), "its thread has left");
}

#[test]
fn a_call_of_blocking_is_named() {
    let _watch = watch!();
    let (pool, stuck) = (pool(2), Stuck::default());
    let inner = stuck.clone();
    let line = line!() + 1;
    pool.spawn(move || heist::blocking(|| inner.run()));
    let report = report(pool, &stuck);
    check(thread_at(&report, line), ThreadState::Waiting, CallKind::BlockingInPlace);
    assert!(report.to_string().contains("waits: blocking call in place running for"), "{report}");
}

/// After the inner call the outer one is what its thread is inside of.
#[test]
fn after_blocking_the_job_is_named_again() {
    let _watch = watch!();
    let (pool, stuck) = (pool(2), Stuck::default());
    let inner = stuck.clone();
    let job = move || {
        heist::blocking(|| ());
        inner.run();
    };
    let line = line!() + 1;
    pool.spawn(job);
    check(thread_at(&report(pool, &stuck), line), ThreadState::Job, CallKind::Job);
}

#[test]
fn what_another_thread_waits_for_is_named() {
    let _watch = watch!();
    let (pool, stuck) = (pool(2), Stuck::default());
    let inside = |call: &CallInfo, line| is_at(call, line) && call.kind() == CallKind::Install;
    std::thread::scope(|threads| {
        let line = line!() + 1;
        threads.spawn(|| pool.install(|| stuck.run()));
        stuck.runs.block();
        assert!(dump_calls().iter().any(|call| inside(call, line)));
        stuck.go.open();
    });
    let stuck = Stuck::default();
    std::thread::scope(|threads| {
        let line = line!() + 1;
        threads.spawn(|| pool.scope(|s| s.spawn(|_| stuck.run())));
        stuck.runs.block();
        assert!(dump_calls().iter().any(|call| inside(call, line)));
        stuck.go.open();
    });
}

#[test]
fn a_computation_is_named_by_its_caller() {
    let _watch = watch!();
    let (pool, stuck) = (pool(1), Stuck::default());
    let line = line!() + 1;
    let computed = pool.compute(stuck.closure());
    stuck.runs.block();
    assert_eq!(dump_calls().iter().filter(|call| is_at(call, line)).count(), 1, "once");
    let report = report(pool, &stuck);
    check(thread_at(&report, line), ThreadState::Job, CallKind::Compute);
    let [call] = &report.calls[..] else { panic!("{report}") };
    assert!(is_at(call, line) && call.kind() == CallKind::Compute && call.is_running(), "{report}");
    block_on(computed);
}

/// A blocking call is on no thread of the pool's, but it is the pool's.
#[test]
fn a_blocking_call_is_named_in_its_own_pools_report() {
    let _watch = watch!();
    let (mine, other, stuck) = (pool(1), pool(1), Stuck::default());
    let call = stuck.closure();
    let line = line!() + 1;
    let handle = mine.install(|| task::Builder::new().name("reader").spawn_blocking(call));
    stuck.runs.block();
    let nothing = other.shutdown_within(Duration::from_secs(3600)).unwrap();
    assert!(nothing.is_complete && nothing.calls.is_empty() && nothing.workers.is_empty(), "{nothing}");
    let report = report(mine, &stuck);
    let [call] = &report.calls[..] else { panic!("{report}") };
    assert!(is_at(call, line) && call.kind() == CallKind::Blocking && call.is_running(), "{report}");
    assert_eq!(call.name(), Some("reader"));
    assert_eq!(report.tasks.len(), 1, "the task that awaits it: {report}");
    assert!(report.to_string().contains("(reader)"), "{report}");
    // The task was aborted while the call ran on.
    assert!(block_on(handle).unwrap_err().is_cancelled());
}

/// A poll is the task's; its thread says only that it polls.
#[test]
fn a_poll_is_told_from_a_job() {
    let _watch = watch!();
    let (pool, stuck) = (pool(1), Stuck::default());
    let poll = stuck.closure();
    let handle = pool.spawn_task(async move { poll() });
    let report = report(pool, &stuck);
    let polls = report.workers.iter().filter(|thread| thread.state() == ThreadState::Poll);
    assert_eq!(
        polls.map(ThreadInfo::call).map(|call| call.is_none()).collect::<Vec<_>>(),
        [true],
        "{report}"
    );
    assert_eq!(report.tasks.len(), 1);
    block_on(handle).expect("it ended in the poll in which it was aborted");
}
