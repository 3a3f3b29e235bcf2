//! Made-up reports for tests.

use super::shown::{PermitReport, PoolId, PoolReport, Progress, TaskReport, TaskState, ThreadReport};
use crate::threads::ThreadState;
use crate::waits::WaitsFor;
use std::panic::Location;
use std::time::Duration;

/// Everything has lasted for so long.
pub const LASTED: Duration = Duration::from_secs(10);

/// A thread that has nothing to do.
pub fn thread(number: usize) -> ThreadReport {
    ThreadReport {
        number,
        name: None,
        is_guest: false,
        state: ThreadState::Idle,
        progress: Progress::Idle,
        at_least: LASTED,
        closure: None,
        scope_job: None,
        task: None,
        tick: None,
        holds: None,
        lent: None,
        waits_for: WaitsFor::Unknown,
        awaits: None,
        sleeps_in: None,
        awaited: None,
        serves: Vec::new(),
    }
}

/// One that waits.
pub fn waits(number: usize, waits_for: WaitsFor) -> ThreadReport {
    ThreadReport { state: ThreadState::Waiting, waits_for, ..thread(number) }
}

/// One inside of a job, with the permit of its own number.
pub fn in_job(number: usize, progress: Progress) -> ThreadReport {
    ThreadReport { state: ThreadState::Job, progress, holds: Some(number), ..thread(number) }
}

/// A pool with as many permits as threads, each held by the thread of its number.
pub fn pool(id: u32, threads: Vec<ThreadReport>) -> PoolReport {
    let permit = |holder| PermitReport { holder: Some(holder), is_observed: false, is_wanted: false };
    PoolReport {
        id: PoolId(id),
        is_global: false,
        active: threads.len(),
        permits: (0..threads.len()).map(permit).collect(),
        threads,
        queued_jobs: 0,
        queued_tasks: 0,
        ticks: Vec::new(),
        rescues: false,
    }
}

/// A task that awaits that one.
#[track_caller]
pub fn task(id: u64, state: TaskState, awaits: Option<u64>) -> TaskReport {
    let site = Location::caller();
    TaskReport::new(id, "x".into(), None, site, "F", state, LASTED, 0, awaits, 16 * id as usize)
}
