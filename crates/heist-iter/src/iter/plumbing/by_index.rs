//! The driver for consumers that must know where they are divided before they begin.
//!
//! A folder is promised a share of the items, its stretch. While that runs, it is what comes later that is cut.

use super::plan::{Clock, Items, Kind, Plan};
use super::{Consumer, Folder, Producer, Reducer};
use crate::pool;

/// Runs all `items` of a loop.
pub(super) fn run_all<P, C>(kind: Kind, items: Items<P>, consumer: C) -> C::Result
where
    P: Producer,
    C: Consumer<P::Item>,
{
    let plan = Plan::new(kind, items.producer.min_len(), items.producer.max_len(), items.len);
    run(plan, None, items, consumer).1
}

/// Runs the stretch that has begun, if any, and then the items that come later; returns what both come to.
fn run<P, C>(
    mut plan: Plan,
    mut begun: Option<(Items<P>, C::Folder)>,
    later: Items<P>,
    consumer: C,
) -> (Option<C::Result>, C::Result)
where
    P: Producer,
    C: Consumer<P::Item>,
{
    let mut clock = Clock::default();
    let mut done = None;
    while let Some((items, folder)) = begun {
        if folder.full() {
            drop(items);
            done = Some(folder.complete());
            break;
        }
        if plan.wants_cut(later.len, true) {
            return cut(plan, Some((items, folder)), later, consumer);
        }
        let (folder, rest) = items.run_block(folder, &mut clock, &mut plan);
        begun = match rest {
            Some(rest) => Some((rest, folder)),
            None => {
                done = Some(folder.complete());
                None
            }
        };
    }

    if consumer.full() {
        drop(later);
        return (done, consumer.into_folder().complete());
    }
    if plan.wants_cut(later.len, true) {
        let (_, result) = cut(plan, None, later, consumer);
        return (done, result);
    }
    let stretch = plan.stretch(later.len);
    if stretch == later.len {
        return (done, run_last(plan, later, consumer.into_folder(), clock));
    }
    let (now, rest) = later.split_at(stretch);
    let (consumer, rest_consumer, reducer) = consumer.split_at(stretch);
    let begun = (now, consumer.into_folder());
    let (left, right) = run(plan, Some(begun), rest, rest_consumer);
    (done, reducer.reduce(left.expect("a stretch was begun"), right))
}

/// Runs a stretch after which nothing comes.
fn run_last<P, F>(mut plan: Plan, mut items: Items<P>, mut folder: F, mut clock: Clock) -> F::Result
where
    P: Producer,
    F: Folder<P::Item>,
{
    while !folder.full() {
        match items.run_block(folder, &mut clock, &mut plan) {
            (rest_folder, Some(rest)) => (folder, items) = (rest_folder, rest),
            (last_folder, None) => {
                clock.end(&plan);
                return last_folder.complete();
            }
        }
    }
    clock.end(&plan);
    drop(items);
    folder.complete()
}

/// Goes on with what has begun and the near half of what comes later, and offers the far half.
fn cut<P, C>(
    plan: Plan,
    begun: Option<(Items<P>, C::Folder)>,
    later: Items<P>,
    consumer: C,
) -> (Option<C::Result>, C::Result)
where
    P: Producer,
    C: Consumer<P::Item>,
{
    let middle = later.len / 2;
    let (near, far) = later.split_at(middle);
    let (near_consumer, far_consumer, reducer) = consumer.split_at(middle);
    let ((done, left), right) = pool::join_here(
        move |_| run(plan.halved(), begun, near, near_consumer),
        move |context| run(plan.far_half(context.migrated()), None, far, far_consumer).1,
    );
    (done, reducer.reduce(left, right))
}
