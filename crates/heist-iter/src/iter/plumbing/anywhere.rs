//! The driver for loops that can be cut anywhere, at any time.
//!
//! A stretch runs until it ends or somebody wants work; then what is left of it is cut. Each stretch has one folder.

use super::brief::Brief;
use super::plan::{Clock, Items, Kind, Plan, fold};
use super::{Consumer, Folder, Producer, Reducer, UnindexedConsumer};
use crate::pool;
use std::marker::PhantomData;

/// Where the consumers of the parts that are cut off come from.
pub(super) trait Cuttable<T>: Send + Sized {
    type Consumer: Consumer<T>;

    /// What stays behind when a folder has begun.
    type Begun;

    fn begin(self) -> (Self::Begun, FolderOf<Self, T>);

    /// Cuts off what comes after the next `items`.
    fn cut(begun: Self::Begun, folder: FolderOf<Self, T>, items: usize) -> Cut<Self, T>;
}

type FolderOf<K, T> = <<K as Cuttable<T>>::Consumer as Consumer<T>>::Folder;
type ResultOf<K, T> = <<K as Cuttable<T>>::Consumer as Consumer<T>>::Result;

/// The near part goes on as it was.
pub(super) struct Cut<K: Cuttable<T>, T> {
    begun: K::Begun,
    folder: FolderOf<K, T>,
    far: K,
    reducer: <K::Consumer as Consumer<T>>::Reducer,
}

/// A consumer that can be divided without saying where: it is kept, and left parts are split off.
pub(super) struct Kept<C>(pub(super) C);

impl<T, C: UnindexedConsumer<T>> Cuttable<T> for Kept<C> {
    type Consumer = C;
    type Begun = C;

    fn begin(self) -> (C, C::Folder) {
        let folder = self.0.split_off_left().into_folder();
        (self.0, folder)
    }

    fn cut(begun: C, folder: C::Folder, _items: usize) -> Cut<Self, T> {
        Cut { begun: begun.split_off_left(), folder, reducer: begun.to_reducer(), far: Kept(begun) }
    }
}

/// A consumer whose folder still knows what it was promised, and can give a part of that back.
pub(super) struct Promised<C>(pub(super) C);

impl<T, C: Consumer<T>> Cuttable<T> for Promised<C> {
    type Consumer = C;
    type Begun = PhantomData<C>;

    fn begin(self) -> (PhantomData<C>, C::Folder) {
        (PhantomData, self.0.into_folder())
    }

    fn cut(begun: PhantomData<C>, folder: C::Folder, items: usize) -> Cut<Self, T> {
        let (folder, far, reducer) = C::cut_begun(folder, items);
        Cut { begun, folder, far: Promised(far), reducer }
    }
}

/// Runs all `items` of a loop.
pub(super) fn run_all<P, K>(kind: Kind, items: Items<P>, cuttable: K) -> ResultOf<K, P::Item>
where
    P: Producer,
    K: Cuttable<P::Item>,
{
    let (begun, folder) = cuttable.begin();
    let (min, max) = (items.producer.min_len(), items.producer.max_len());
    // One that is full before it begins runs nothing.
    let may_be_brief = !P::COSTLY_START && !folder.full();
    let brief = if may_be_brief { Brief::begin(kind, max, items.len) } else { None };
    let Some(mut brief) = brief else {
        let plan = Plan::new(kind, min, max, items.len);
        return go_on::<P, K>(plan, Clock::default(), items, begun, folder, true);
    };
    let (first, rest) = items.split_at(brief.first());
    let mut folder = fold(first.producer, folder);
    if folder.full() {
        drop(rest);
        brief.end_full();
    } else {
        if !brief.is_brief() {
            let (plan, clock) = brief.disappoint(min, max);
            return go_on::<P, K>(plan, clock, rest, begun, folder, false);
        }
        folder = fold(rest.producer, folder);
        brief.end();
    }
    drop(begun);
    folder.complete()
}

/// Runs `items` from the beginning.
fn run<P, K>(plan: Plan, items: Items<P>, cuttable: K) -> ResultOf<K, P::Item>
where
    P: Producer,
    K: Cuttable<P::Item>,
{
    let (begun, folder) = cuttable.begin();
    go_on::<P, K>(plan, Clock::default(), items, begun, folder, true)
}

/// Runs `items`, which are the rest of a part; `is_fresh` if they are the whole, so that `folder` has not had any.
fn go_on<P, K>(
    mut plan: Plan,
    mut clock: Clock,
    items: Items<P>,
    begun: K::Begun,
    mut folder: FolderOf<K, P::Item>,
    mut is_fresh: bool,
) -> ResultOf<K, P::Item>
where
    P: Producer,
    K: Cuttable<P::Item>,
{
    if items.len == 0 {
        // All of it was offered.
        pool::stand_aside();
    }
    let mut rest = Some(items);
    while let Some(items) = rest {
        if folder.full() {
            drop(items);
            break;
        }
        if plan.wants_cut(items.len, is_fresh) {
            clock.stop(&plan);
            // Goes on with the near half, and offers the far half. In one place only: a fork is much code for each loop.
            let middle = plan.cut_at(items.len);
            let (near, far) = items.split_at(middle);
            let cut = K::cut(begun, folder, middle);
            let (begun, folder, far_cuttable) = (cut.begun, cut.folder, cut.far);
            let (left, right) = pool::join_here(
                move |_| go_on::<P, K>(plan.halved(), Clock::default(), near, begun, folder, is_fresh),
                move |context| run(plan.far_half(context.migrated()), far, far_cuttable),
            );
            return cut.reducer.reduce(left, right);
        }
        is_fresh = false;
        (folder, rest) = items.run_block(folder, &mut clock, &mut plan);
    }
    clock.end(&plan);
    drop(begun);
    folder.complete()
}

#[cfg(test)]
mod tests {
    use super::super::NoopReducer;
    use super::super::habit::Habit;
    use super::*;
    use heist_sync::std_atomic::{AtomicUsize, Ordering};

    struct Numbers(std::ops::Range<usize>);

    impl Producer for Numbers {
        type Item = usize;
        type IntoIter = std::ops::Range<usize>;

        fn into_iter(self) -> Self::IntoIter {
            self.0
        }

        fn split_at(self, index: usize) -> (Self, Self) {
            let middle = self.0.start + index;
            (Numbers(self.0.start..middle), Numbers(middle..self.0.end))
        }
    }

    /// Counts what it gets, and wants no more than `most`.
    #[derive(Clone, Copy)]
    struct Sated<'a> {
        seen: &'a AtomicUsize,
        most: usize,
    }

    impl Consumer<usize> for Sated<'_> {
        type Folder = Self;
        type Reducer = NoopReducer;
        type Result = ();

        fn split_at(self, _index: usize) -> (Self, Self, NoopReducer) {
            (self, self, NoopReducer)
        }

        fn into_folder(self) -> Self {
            self
        }

        fn full(&self) -> bool {
            Folder::full(self)
        }
    }

    impl UnindexedConsumer<usize> for Sated<'_> {
        const ANYWHERE: bool = true;

        fn split_off_left(&self) -> Self {
            *self
        }

        fn to_reducer(&self) -> NoopReducer {
            NoopReducer
        }
    }

    impl Folder<usize> for Sated<'_> {
        type Result = ();

        fn consume(self, _item: usize) -> Self {
            self.seen.fetch_add(1, Ordering::Relaxed);
            self
        }

        fn complete(self) {}

        fn full(&self) -> bool {
            self.seen.load(Ordering::Relaxed) >= self.most
        }
    }

    /// Also if it has always been over at once, and so begins without further thought.
    #[test]
    fn a_loop_runs_no_item_once_it_is_full() {
        struct Light;
        let kind = Kind { habit: Habit::of::<Light, Light>(0), depth: 0 };
        for most in [0, 1, 12, 13, 14, 99, 100] {
            kind.habit.learn(1_000, 100);
            let seen = AtomicUsize::new(0);
            let items = Items { producer: Numbers(0..100), len: 100 };
            run_all(kind, items, Kept(Sated { seen: &seen, most }));
            assert_eq!(seen.into_inner(), most);
        }
    }
}
