//! A million tasks: joined by the task that spawned them, and as a tree.

use std::pin::Pin;

use super::figures::{Limit, both, compare};
use super::runtime::Runtime;
use crate::race::Plan;
use crate::report::Row;
use crate::visit::repeat;

const TASKS: u64 = 1_000_000;
/// How many children each task of the tree has.
const CHILDREN: u64 = 10;

/// Of tokio.
const JOIN_MAX: f64 = 0.3;
const SKYNET_MAX: f64 = 0.25;

pub fn rows(plan: &mut Plan) -> Vec<Row> {
    let rounds = plan.rounds(5, 2);
    let tasks = plan.size(TASKS, TASKS / 10);
    let mut rows = Vec::new();
    if plan.wants_row("spawn and join") {
        let series = both!(plan, rounds, |R| repeat(1, 1, || joined::<R>(tasks)).per(tasks));
        rows.push(compare(&format!("spawn and join {tasks}"), series, &[Limit::Ratio(JOIN_MAX)]));
    }
    if plan.wants_row("skynet") {
        let series = both!(plan, rounds, |R| repeat(1, 1, || skynet::<R>(tasks)).per(tasks));
        rows.push(compare(&format!("skynet, {tasks} leaves"), series, &[Limit::Ratio(SKYNET_MAX)]));
    }
    rows
}

/// The sum of what the tasks return.
fn joined<R: Runtime>(count: u64) -> u64 {
    R::block_on(async {
        let parent = R::spawn(async move {
            let tasks: Vec<_> = (0..count).map(|number| R::spawn(async move { number })).collect();
            let mut sum = 0;
            for task in tasks {
                sum += task.await.expect("no task panics");
            }
            sum
        });
        parent.await.expect("the parent does not panic")
    })
}

/// The sum of the numbers of all leaves.
fn skynet<R: Runtime>(leaves: u64) -> u64 {
    R::block_on(async { R::spawn(branch::<R>(0, leaves)).await.expect("no task panics") })
}

fn branch<R: Runtime>(first: u64, leaves: u64) -> Pin<Box<dyn Future<Output = u64> + Send>> {
    Box::pin(async move {
        if leaves == 1 {
            return first;
        }
        let share = leaves / CHILDREN;
        let children: Vec<_> =
            (0..CHILDREN).map(|child| R::spawn(branch::<R>(first + child * share, share))).collect();
        let mut sum = 0;
        for child in children {
            sum += child.await.expect("no task panics");
        }
        sum
    })
}
