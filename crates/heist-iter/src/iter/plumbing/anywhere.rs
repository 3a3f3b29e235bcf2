//! The driver for consumers that can be divided anywhere.
//!
//! A stretch runs until it ends or somebody is hungry; then what is left of it is cut. Each stretch has one folder.

use super::plan::{Clock, Items, Plan};
use super::{Folder, Producer, Reducer, UnindexedConsumer};
use crate::pool;

/// Runs `items` into `folder`, or into a new one; `consumer` is for whatever is cut off.
pub(super) fn run<P, C>(
    mut plan: Plan,
    mut items: Items<P>,
    folder: Option<C::Folder>,
    consumer: C,
) -> C::Result
where
    P: Producer,
    C: UnindexedConsumer<P::Item>,
{
    let mut folder = match folder {
        None if plan.wants_cut(items.len, true) && !consumer.full() => {
            return cut(plan, items, None, consumer);
        }
        None => consumer.split_off_left().into_folder(),
        Some(folder) => folder,
    };
    let mut clock = Clock::default();
    while !folder.full() {
        if plan.wants_cut(items.len, false) {
            return cut(plan, items, Some(folder), consumer);
        }
        match items.run_block(folder, &mut clock, &mut plan) {
            (rest_folder, Some(rest)) => (folder, items) = (rest_folder, rest),
            (folder, None) => return folder.complete(),
        }
    }
    folder.complete()
}

/// Goes on with the near half, and offers the far half.
fn cut<P, C>(plan: Plan, items: Items<P>, folder: Option<C::Folder>, consumer: C) -> C::Result
where
    P: Producer,
    C: UnindexedConsumer<P::Item>,
{
    let middle = items.len / 2;
    let (near, far) = items.split_at(middle);
    let (plan, reducer) = (plan.halved(), consumer.to_reducer());
    let near_consumer = consumer.split_off_left();
    let (left, right) = pool::join_here(
        move || run(plan, near, folder, near_consumer),
        move |migrated| run(plan.migrated(migrated), far, None, consumer),
    );
    reducer.reduce(left, right)
}
