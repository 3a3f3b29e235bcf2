//! Who waits for whom, and in which circles. Plain functions of a report.

use super::shown::{Node, PoolReport, TaskReport, TaskState, ThreadReport};
use crate::threads::ThreadState;
use crate::waits::WaitsFor;
use std::collections::{HashMap, VecDeque};

/// For whom each waits, as far as that is known. Who waits for several waits for all of them.
pub(super) fn edges(pools: &[PoolReport], tasks: &[TaskReport]) -> HashMap<Node, Vec<Node>> {
    let mut edges: HashMap<Node, Vec<Node>> = HashMap::new();
    let is_alive = |id: &u64| tasks.iter().any(|task| task.id == *id);
    for pool in pools {
        for thread in &pool.threads {
            let here = Node::Thread(pool.id, thread.number);
            let to = match thread.waits_for {
                WaitsFor::Half(thief) => vec![Node::Thread(pool.id, thief)],
                WaitsFor::Permit(index) => {
                    let holder = pool.permits.get(index).and_then(|permit| permit.holder);
                    holder.map(|holder| Node::Thread(pool.id, holder)).into_iter().collect()
                }
                // What it polls tells more, if it polls a task.
                WaitsFor::Future => thread.awaits.filter(is_alive).map(Node::Task).into_iter().collect(),
                WaitsFor::Jobs | WaitsFor::Call(_) => {
                    runners(pools, thread).into_iter().filter(|runner| *runner != here).collect()
                }
                _ => Vec::new(),
            };
            if thread.state == ThreadState::Waiting && !to.is_empty() {
                edges.insert(here, to);
            }
            if let Some(task) = thread.task {
                // A task whose thread waits goes on when the thread does.
                edges.entry(Node::Task(task)).or_insert_with(|| vec![here]);
            }
        }
    }
    for task in tasks {
        if let (TaskState::Waiting, Some(other)) = (task.state, task.awaits.filter(is_alive)) {
            edges.insert(Node::Task(task.id), vec![Node::Task(other)]);
        }
    }
    edges
}

/// Those that run what the thread waits for: the jobs of its scope, or the call that it has made into another pool.
pub(super) fn runners(pools: &[PoolReport], thread: &ThreadReport) -> Vec<Node> {
    let Some(awaited) = thread.awaited else { return Vec::new() };
    let of_pool = |pool: &PoolReport| {
        let id = pool.id;
        let runs = pool.threads.iter().filter(move |other| other.serves.contains(&awaited));
        runs.map(|other| Node::Thread(id, other.number)).collect::<Vec<_>>()
    };
    pools.iter().flat_map(of_pool).collect()
}

/// Circles: a shortest one through each that is in any, unless it is in one that is known.
pub(super) fn cycles(edges: &HashMap<Node, Vec<Node>>) -> Vec<Vec<Node>> {
    let mut cycles: Vec<Vec<Node>> = Vec::new();
    for &start in edges.keys() {
        if !cycles.iter().any(|known| known.contains(&start)) {
            cycles.extend(cycle_through(start, edges));
        }
    }
    cycles
}

fn cycle_through(start: Node, edges: &HashMap<Node, Vec<Node>>) -> Option<Vec<Node>> {
    // From whom each was reached first.
    let mut before: HashMap<Node, Node> = HashMap::new();
    let mut ahead = VecDeque::from([start]);
    while let Some(here) = ahead.pop_front() {
        for &next in edges.get(&here).into_iter().flatten() {
            if next == start {
                let mut cycle = vec![here];
                while let Some(&previous) = cycle.last().and_then(|last| before.get(last)) {
                    cycle.push(previous);
                }
                cycle.reverse();
                return Some(cycle);
            }
            before.entry(next).or_insert_with(|| {
                ahead.push_back(next);
                here
            });
        }
    }
    None
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::super::made_up::{pool, task, thread, waits};
    use super::*;
    use crate::stall::shown::PoolId;

    #[test]
    fn each_kind_of_wait_is_an_edge() {
        let of = |number: usize| Node::Thread(PoolId(1), number);
        let elsewhere = Node::Thread(PoolId(2), 0);
        let mut left = vec![
            waits(0, WaitsFor::Half(1)),
            waits(1, WaitsFor::Permit(3)),
            ThreadReport { awaits: Some(7), ..waits(2, WaitsFor::Future) },
            ThreadReport { awaited: Some(64), ..waits(3, WaitsFor::Jobs) },
            ThreadReport { awaited: Some(128), ..waits(4, WaitsFor::Call(2)) },
            waits(5, WaitsFor::Blocking),
            ThreadReport { task: Some(8), serves: vec![64], ..thread(6) },
            // It runs a job of its own scope on top of its wait.
            ThreadReport { awaited: Some(64), serves: vec![32, 64], ..waits(7, WaitsFor::Jobs) },
        ];
        let right = ThreadReport { serves: vec![128], ..thread(0) };
        let tasks = [task(7, TaskState::Waiting, Some(8)), task(8, TaskState::Running, None)];
        let found = edges(&[pool(1, left.clone()), pool(2, vec![right])], &tasks);
        let expected = HashMap::from([
            (of(0), vec![of(1)]),
            (of(1), vec![of(3)]),
            (of(2), vec![Node::Task(7)]),
            (of(3), vec![of(6), of(7)]),
            (of(4), vec![elsewhere]),
            (of(7), vec![of(6)]),
            (Node::Task(7), vec![Node::Task(8)]),
            (Node::Task(8), vec![of(6)]),
        ]);
        assert_eq!(found, expected);
        // What has ended is waited for by nobody, and who goes on waits for nothing.
        left[2].awaits = Some(9);
        left[0].state = ThreadState::Job;
        let found = edges(&[pool(1, left)], &tasks);
        assert!(!found.contains_key(&of(2)) && !found.contains_key(&of(0)));
    }

    #[test]
    fn circles_are_found_once_and_chains_are_none() {
        let edges = |pairs: &[(u64, u64)]| {
            let mut edges: HashMap<Node, Vec<Node>> = HashMap::new();
            for &(from, to) in pairs {
                edges.entry(Node::Task(from)).or_default().push(Node::Task(to));
            }
            edges
        };
        assert!(cycles(&edges(&[])).is_empty());
        assert!(cycles(&edges(&[(1, 2), (2, 3), (5, 3)])).is_empty());
        let found = cycles(&edges(&[(1, 2), (2, 3), (3, 2), (7, 7), (8, 1)]));
        let mut sizes: Vec<_> = found.iter().map(Vec::len).collect();
        sizes.sort_unstable();
        assert_eq!(sizes, [1, 2], "{found:?}");
        assert!(found.iter().flatten().all(|node| [2, 3, 7].map(Node::Task).contains(node)));
    }

    #[test]
    fn who_waits_for_several_is_in_a_circle_with_any_of_them() {
        let edges = HashMap::from([
            (Node::Task(1), vec![Node::Task(2), Node::Task(3)]),
            (Node::Task(3), vec![Node::Task(4)]),
            (Node::Task(4), vec![Node::Task(1)]),
        ]);
        let found = cycles(&edges);
        assert_eq!(found.len(), 1);
        let mut nodes = found[0].clone();
        let first = nodes.iter().position(|node| *node == Node::Task(1)).unwrap();
        nodes.rotate_left(first);
        assert_eq!(nodes, [1, 3, 4].map(Node::Task));
    }
}
