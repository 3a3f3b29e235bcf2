//! Beside a turn that computes for long, the core has a pulse, and every thread of the pool's waits for a core as ordinary ones
//! do: whatever manner the monitor has, the threads that it starts do not take after it. In a process of its own, which has
//! no other pool.

#![cfg(target_os = "linux")]

#[path = "rig/watchdog.rs"]
mod watchdog;

use std::fs;
use watchdog::watch;

/// Names and scheduling policies of all threads.
fn threads() -> Vec<(String, u32)> {
    /// Fields from the state to the policy.
    const FROM_STATE: usize = 38;
    let of = |task: fs::DirEntry| {
        // One that has just ended is not there any more.
        let line = fs::read_to_string(task.path().join("stat")).ok()?;
        let (name, fields) = line.split_once('(')?.1.rsplit_once(") ")?;
        let policy = fields.split(' ').nth(FROM_STATE).expect("the kernel tells the policy");
        Some((name.to_owned(), policy.parse().expect("a policy is a number")))
    };
    let tasks = fs::read_dir("/proc/self/task").expect("Linux lists threads");
    tasks.filter_map(|task| of(task.expect("an entry of the list"))).collect()
}

#[test]
fn threads_started_by_the_monitor_are_ordinary() {
    let _watch = watch!();
    let pool = heist::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    // A neighbour, so that the monitor starts an overtaker for it.
    let seen = pool.spawn_task(async {
        let neighbour = heist::task::spawn(async {});
        loop {
            let threads = threads();
            if neighbour.is_finished() && threads.iter().any(|(name, _)| name == "heist-pulse") {
                return threads;
            }
        }
    });
    let seen = pool.block_on(seen).unwrap();
    let (_, program) = seen[0];
    for (name, policy) in seen.iter().filter(|(name, _)| name != "heist-monitor") {
        assert_eq!(*policy, program, "{name} in {seen:?}");
    }
}
