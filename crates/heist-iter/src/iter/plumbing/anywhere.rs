//! The driver for loops that can be cut anywhere, at any time.
//!
//! A stretch runs until it ends or somebody wants work; then what is left of it is cut. Each stretch has one folder.

use super::plan::{Clock, Items, Plan};
use super::{Consumer, Folder, Producer, Reducer, UnindexedConsumer};
use crate::pool;
use std::marker::PhantomData;

/// Where the consumers of the parts that are cut off come from.
pub(super) trait Cuttable<T>: Send + Sized {
    type Consumer: Consumer<T>;

    /// What stays behind when a folder has begun.
    type Begun;

    fn begin(self) -> (Self::Begun, FolderOf<Self, T>);

    /// Cuts before anything has begun; the near part gets `items`.
    fn cut_fresh(self, items: usize) -> (Self, Self, ReducerOf<Self, T>);

    /// Cuts off what comes after the next `items`.
    fn cut_begun(begun: Self::Begun, folder: FolderOf<Self, T>, items: usize) -> BegunCut<Self, T>;

    /// Whether any further item would be in vain.
    fn is_full(&self) -> bool;
}

type FolderOf<K, T> = <<K as Cuttable<T>>::Consumer as Consumer<T>>::Folder;
type ReducerOf<K, T> = <<K as Cuttable<T>>::Consumer as Consumer<T>>::Reducer;
type BegunCut<K, T> = ((<K as Cuttable<T>>::Begun, FolderOf<K, T>), K, ReducerOf<K, T>);
type ResultOf<K, T> = <<K as Cuttable<T>>::Consumer as Consumer<T>>::Result;

/// How far a part has come.
enum Part<K: Cuttable<T>, T> {
    /// There is no folder yet.
    Fresh(K),
    /// A folder has taken items, and this stays behind.
    Begun(K::Begun, FolderOf<K, T>),
}

/// The near part goes on as it was.
struct Cut<K: Cuttable<T>, T> {
    near: Part<K, T>,
    far: K,
    reducer: ReducerOf<K, T>,
}

impl<K: Cuttable<T>, T> Part<K, T> {
    fn cut(self, items: usize) -> Cut<K, T> {
        match self {
            Part::Fresh(cuttable) => {
                let (near, far, reducer) = cuttable.cut_fresh(items);
                Cut { near: Part::Fresh(near), far, reducer }
            }
            Part::Begun(begun, folder) => {
                let ((begun, folder), far, reducer) = K::cut_begun(begun, folder, items);
                Cut { near: Part::Begun(begun, folder), far, reducer }
            }
        }
    }
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

    fn cut_fresh(self, _items: usize) -> (Self, Self, C::Reducer) {
        let reducer = self.0.to_reducer();
        (Kept(self.0.split_off_left()), self, reducer)
    }

    fn cut_begun(begun: C, folder: C::Folder, _items: usize) -> BegunCut<Self, T> {
        let reducer = begun.to_reducer();
        ((begun.split_off_left(), folder), Kept(begun), reducer)
    }

    fn is_full(&self) -> bool {
        self.0.full()
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

    fn cut_fresh(self, items: usize) -> (Self, Self, C::Reducer) {
        let (near, far, reducer) = self.0.split_at(items);
        (Promised(near), Promised(far), reducer)
    }

    fn cut_begun(_begun: PhantomData<C>, folder: C::Folder, items: usize) -> BegunCut<Self, T> {
        let (folder, far, reducer) = C::cut_begun(folder, items);
        ((PhantomData, folder), Promised(far), reducer)
    }

    fn is_full(&self) -> bool {
        self.0.full()
    }
}

/// Runs `items` from the beginning.
pub(super) fn run<P, K>(plan: Plan, items: Items<P>, cuttable: K) -> ResultOf<K, P::Item>
where
    P: Producer,
    K: Cuttable<P::Item>,
{
    go_on(plan, items, Part::Fresh(cuttable))
}

/// Runs `items`, which are the rest of a part.
fn go_on<P, K>(mut plan: Plan, mut items: Items<P>, mut part: Part<K, P::Item>) -> ResultOf<K, P::Item>
where
    P: Producer,
    K: Cuttable<P::Item>,
{
    let mut clock = Clock::default();
    loop {
        let (is_full, is_fresh) = match &part {
            Part::Fresh(cuttable) => (cuttable.is_full(), true),
            Part::Begun(_, folder) => (folder.full(), false),
        };
        if !is_full && plan.wants_cut(items.len, is_fresh) {
            clock.stop(&plan);
            // Goes on with the near half, and offers the far half. In one place only: a fork is much code for each loop.
            let middle = items.len / 2;
            let (near, far) = items.split_at(middle);
            let Cut { near: near_part, far: far_cuttable, reducer } = part.cut(middle);
            let (left, right) = pool::join_here(
                move || go_on(plan.halved(), near, near_part),
                move |context| run(plan.far_half(context.migrated()), far, far_cuttable),
            );
            return reducer.reduce(left, right);
        }
        let (begun, folder) = match part {
            Part::Fresh(cuttable) => cuttable.begin(),
            Part::Begun(begun, folder) => (begun, folder),
        };
        if is_full {
            clock.stop(&plan);
            drop((items, begun));
            return folder.complete();
        }
        match items.run_block(folder, &mut clock, &mut plan) {
            (folder, Some(rest)) => (part, items) = (Part::Begun(begun, folder), rest),
            (folder, None) => {
                clock.stop(&plan);
                drop(begun);
                return folder.complete();
            }
        }
    }
}
