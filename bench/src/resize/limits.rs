//! A pool that follows the machine's limits: how long until it has as many threads as the process has CPUs.

use std::time::{Duration, Instant};

use heist::{ThreadPool, ThreadPoolBuilder};
use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity};

use super::{LINE, WORKERS, in_turn};
use crate::race::Plan;
use crate::report::{Judged, Sense, Table};

/// A busy pool has followed within this.
const FOLLOWED_S: f64 = 2.0;
/// One that has not followed by then does not.
const GIVEN_UP: Duration = Duration::from_secs(20);

/// The CPUs that every thread of this process may use from now on, as by `taskset -a -p`.
fn allow(cpus: &CpuSet) {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return };
    for thread in threads.flatten() {
        let id = thread.file_name().to_str().and_then(|id| id.parse().ok()).and_then(Pid::from_raw);
        // One that has ended meanwhile needs none.
        let _ = sched_setaffinity(id, cpus);
    }
}

/// The seconds until a busy pool has `threads`.
fn followed(pool: &ThreadPool, threads: usize) -> f64 {
    let begun = Instant::now();
    while pool.active_num_threads() != threads && begun.elapsed() < GIVEN_UP {
        pool.join(|| std::thread::sleep(Duration::from_millis(1)), || ());
    }
    begun.elapsed().as_secs_f64()
}

/// `None` where the process has not as many CPUs as the pool is to have threads.
pub fn table(plan: &mut Plan) -> Option<Table> {
    let all = sched_getaffinity(None).ok()?;
    let first = (0..CpuSet::MAX_CPU).find(|&cpu| all.is_set(cpu))?;
    if all.count() < WORKERS as u32 {
        return None;
    }
    let mut one = CpuSet::new();
    one.set(first);
    let pool = ThreadPoolBuilder::new()
        .num_threads(WORKERS)
        .max_num_threads(WORKERS)
        .follow_limits(true)
        .build()
        .expect("a pool can be built");
    let mut both = [Vec::new(), Vec::new()];
    for _ in 0..plan.rounds(5, 2) {
        for (seconds, (cpus, threads)) in both.iter_mut().zip([(&one, 1), (&all, WORKERS)]) {
            allow(cpus);
            seconds.push(followed(&pool, threads));
        }
    }
    let names = ["from all CPUs to one", "from one to all"];
    let rows = names.into_iter().zip(both).map(|(name, seconds)| {
        let longest = seconds.iter().copied().fold(0.0, f64::max);
        in_turn(name, seconds, vec![(longest, "s at most", Sense::AtMost, FOLLOWED_S)])
    });
    let title = "a busy pool follows the CPUs that its process may use";
    Some(Table::with_rows(LINE, title, "s", Judged::Median, rows.collect()))
}
