//! What is wrong. A plain function of what was seen.

use super::shown::{Finding, PoolReport, Progress, TaskReport, TaskState};
use super::{graph, shown::Node};
use crate::threads::ThreadState;
use std::time::Duration;

/// What is wrong with these, if whatever has lasted for `limit` is. `is_quiet`: nothing can happen by itself any more, and threads block on
/// futures.
pub(super) fn judge(
    pools: &[PoolReport],
    tasks: &[TaskReport],
    is_quiet: bool,
    limit: Duration,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let cycles = graph::cycles(&graph::edges(pools, tasks)).into_iter();
    // One that is just being closed, by somebody who looks at the others next, is none yet.
    findings.extend(cycles.filter(|nodes| has_lasted(nodes, pools, tasks, limit)).map(Finding::Cycle));
    for pool in pools {
        let mut asleep = 0;
        for thread in pool.threads.iter().filter(|thread| thread.at_least >= limit) {
            let (pool, number, at_least) = (pool.id, thread.number, thread.at_least);
            match thread.progress {
                Progress::Asleep => {
                    asleep += usize::from(thread.holds.is_some() && thread.state == ThreadState::Job);
                    findings.push(Finding::Asleep { pool, thread: number, at_least });
                }
                Progress::Computing => findings.push(Finding::LongRunning { pool, thread: number, at_least }),
                Progress::Idle | Progress::Moving | Progress::Unknown => {}
            }
        }
        if asleep > 0 && asleep >= pool.active && pool.queued_jobs > 0 {
            let (jobs, tasks) = (pool.queued_jobs, pool.queued_tasks);
            findings.push(Finding::AllBlocked { pool: pool.id, jobs, tasks });
        }
    }
    let old = || tasks.iter().filter(|task| task.since >= limit);
    let leaked = old().filter(|task| task.state == TaskState::Leaked);
    findings.extend(leaked.map(|task| Finding::NobodyWakes { task: task.id }));
    let waiting = old().filter(|task| matches!(task.state, TaskState::Waiting | TaskState::Leaked)).count();
    if is_quiet && waiting > 0 {
        let without_waker = old().filter(|task| task.state == TaskState::Leaked).count();
        findings.push(Finding::AllAsleep { tasks: waiting, without_waker });
    }
    findings
}

fn has_lasted(nodes: &[Node], pools: &[PoolReport], tasks: &[TaskReport], limit: Duration) -> bool {
    let since = |node: &Node| match *node {
        Node::Task(id) => tasks.iter().find(|task| task.id == id).map(|task| task.since),
        Node::Thread(id, number) => {
            let pool = pools.iter().find(|pool| pool.id == id)?;
            pool.threads.iter().find(|thread| thread.number == number).map(|thread| thread.at_least)
        }
    };
    nodes.iter().all(|node| since(node).is_some_and(|since| since >= limit))
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::super::made_up::{LASTED, in_job, pool, task, thread, waits};
    use super::*;
    use crate::stall::shown::{PoolId, ThreadReport};
    use crate::waits::WaitsFor;

    const LIMIT: Duration = Duration::from_secs(5);

    fn judged(pools: &[PoolReport], tasks: &[TaskReport]) -> Vec<Finding> {
        judge(pools, tasks, false, LIMIT)
    }

    #[test]
    fn who_sleeps_for_long_is_found_and_who_computes_is_no_stall() {
        let asleep = in_job(0, Progress::Asleep);
        let short = ThreadReport { at_least: LIMIT / 2, ..in_job(1, Progress::Asleep) };
        let threads = vec![asleep, short, in_job(2, Progress::Computing), in_job(3, Progress::Unknown)];
        let found = judged(&[pool(1, threads)], &[]);
        let at_least = LASTED;
        assert_eq!(
            found,
            [
                Finding::Asleep { pool: PoolId(1), thread: 0, at_least },
                Finding::LongRunning { pool: PoolId(1), thread: 2, at_least }
            ]
        );
        assert_eq!(found.iter().map(Finding::is_stall).collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn jobs_behind_blocked_workers_are_found_and_only_if_all_are() {
        let asleep = |number| in_job(number, Progress::Asleep);
        let is_found = |pool: PoolReport| {
            let found = judged(&[pool], &[]);
            found.contains(&Finding::AllBlocked { pool: PoolId(1), jobs: 3, tasks: 2 })
        };
        let queued = |threads| PoolReport { queued_jobs: 3, queued_tasks: 2, ..pool(1, threads) };
        assert!(is_found(queued(vec![asleep(0), asleep(1)])));
        assert!(!is_found(queued(vec![asleep(0), in_job(1, Progress::Computing)])));
        assert!(!is_found(queued(vec![asleep(0), ThreadReport { holds: None, ..asleep(1) }])));
        let in_poll = ThreadReport { state: ThreadState::Poll, ..asleep(1) };
        assert!(!is_found(queued(vec![asleep(0), in_poll])), "somebody else gets its permit");
        let nothing_waits = judged(&[pool(1, vec![asleep(0)])], &[]);
        assert!(nothing_waits.iter().all(|finding| matches!(finding, Finding::Asleep { .. })));
        // Fewer may run than there are: that one does not block them.
        assert!(is_found(PoolReport { active: 1, ..queued(vec![asleep(0), thread(1)]) }));
    }

    #[test]
    fn a_circle_is_found_once_it_has_lasted() {
        let wait = |number, thief| waits(number, WaitsFor::Half(thief));
        let circle = |first: Duration| {
            let first = ThreadReport { at_least: first, ..wait(0, 1) };
            judged(&[pool(1, vec![first, wait(1, 0)])], &[])
        };
        assert!(matches!(&circle(LASTED)[..], [Finding::Cycle(nodes)] if nodes.len() == 2));
        assert_eq!(circle(LIMIT / 2), []);
        let tasks = [task(1, TaskState::Waiting, Some(2)), task(2, TaskState::Waiting, Some(1))];
        assert!(matches!(&judged(&[], &tasks)[..], [Finding::Cycle(nodes)] if nodes.len() == 2));
    }

    #[test]
    fn tasks_without_a_waker_are_found_and_all_that_sleep_if_nothing_can_happen() {
        let young = TaskReport { since: LIMIT / 2, ..task(3, TaskState::Leaked, None) };
        let tasks = [task(1, TaskState::Leaked, None), task(2, TaskState::Waiting, None), young];
        assert_eq!(judged(&[], &tasks), [Finding::NobodyWakes { task: 1 }]);
        let quiet = judge(&[], &tasks, true, LIMIT);
        assert_eq!(quiet[1..], [Finding::AllAsleep { tasks: 2, without_waker: 1 }]);
        let running = [task(1, TaskState::Running, None), task(2, TaskState::Scheduled, None)];
        assert_eq!(judge(&[], &running, true, LIMIT), []);
    }
}
