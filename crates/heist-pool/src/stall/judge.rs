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
