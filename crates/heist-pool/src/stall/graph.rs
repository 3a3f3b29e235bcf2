//! Who waits for whom, and in which circles. Plain functions of a report.

use super::shown::{Node, PoolReport, TaskReport, TaskState};
use crate::threads::ThreadState;
use crate::waits::WaitsFor;
use std::collections::HashMap;

/// Each waits for at most one other, as far as that is known.
pub(super) fn edges(pools: &[PoolReport], tasks: &[TaskReport]) -> HashMap<Node, Node> {
    let mut edges = HashMap::new();
    let is_alive = |id: &u64| tasks.iter().any(|task| task.id == *id);
    for pool in pools {
        for thread in &pool.threads {
            let here = Node::Thread(pool.id, thread.number);
            let to = match thread.waits_for {
                WaitsFor::Half(thief) => Some(Node::Thread(pool.id, thief)),
                WaitsFor::Permit(index) => {
                    let holder = pool.permits.get(index).and_then(|permit| permit.holder);
                    holder.map(|holder| Node::Thread(pool.id, holder))
                }
                // What it polls tells more, if it polls a task.
                WaitsFor::Future => thread.awaits.filter(is_alive).map(Node::Task),
                _ => None,
            };
            if let (ThreadState::Waiting, Some(to)) = (thread.state, to) {
                edges.insert(here, to);
            }
            if let Some(task) = thread.task {
                // A task whose thread waits goes on when the thread does.
                edges.entry(Node::Task(task)).or_insert(here);
            }
        }
    }
    for task in tasks {
        if let (TaskState::Waiting, Some(other)) = (task.state, task.awaits.filter(is_alive)) {
            edges.insert(Node::Task(task.id), Node::Task(other));
        }
    }
    edges
}

/// Every circle, once, each from an arbitrary one on.
pub(super) fn cycles(edges: &HashMap<Node, Node>) -> Vec<Vec<Node>> {
    let mut cycles: Vec<Vec<Node>> = Vec::new();
    for start in edges.keys() {
        let mut path = vec![*start];
        while let Some(next) = path.last().and_then(|last| edges.get(last)) {
            if let Some(at) = path.iter().position(|node| node == next) {
                let cycle = &path[at..];
                if !cycles.iter().any(|known| known.contains(&cycle[0])) {
                    cycles.push(cycle.to_vec());
                }
                break;
            }
            path.push(*next);
        }
    }
    cycles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_are_found_once_and_chains_are_none() {
        let edges = |pairs: &[(u64, u64)]| {
            pairs.iter().map(|&(from, to)| (Node::Task(from), Node::Task(to))).collect::<HashMap<_, _>>()
        };
        assert!(cycles(&edges(&[])).is_empty());
        assert!(cycles(&edges(&[(1, 2), (2, 3), (5, 3)])).is_empty());
        let found = cycles(&edges(&[(1, 2), (2, 3), (3, 2), (7, 7), (8, 1)]));
        let mut sizes: Vec<_> = found.iter().map(Vec::len).collect();
        sizes.sort_unstable();
        assert_eq!(sizes, [1, 2], "{found:?}");
        assert!(found.iter().flatten().all(|node| [2, 3, 7].map(Node::Task).contains(node)));
    }
}
