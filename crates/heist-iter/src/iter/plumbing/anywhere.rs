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
    fn cut_begun(begun: Self::Begun, folder: FolderOf<Self, T>, items: usize) -> Cut<Self, T>;

    /// Whether any further item would be in vain.
    fn is_full(&self) -> bool;
}

type FolderOf<K, T> = <<K as Cuttable<T>>::Consumer as Consumer<T>>::Folder;
type ReducerOf<K, T> = <<K as Cuttable<T>>::Consumer as Consumer<T>>::Reducer;
type ResultOf<K, T> = <<K as Cuttable<T>>::Consumer as Consumer<T>>::Result;

/// The near part goes on with what has begun.
pub(super) struct Cut<K: Cuttable<T>, T> {
    near: (K::Begun, FolderOf<K, T>),
    far: K,
    reducer: ReducerOf<K, T>,
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

    fn cut_begun(begun: C, folder: C::Folder, _items: usize) -> Cut<Self, T> {
        let reducer = begun.to_reducer();
        Cut { near: (begun.split_off_left(), folder), far: Kept(begun), reducer }
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

    fn cut_begun(_begun: PhantomData<C>, folder: C::Folder, items: usize) -> Cut<Self, T> {
        let (folder, far, reducer) = C::cut_begun(folder, items);
        Cut { near: (PhantomData, folder), far: Promised(far), reducer }
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
    if plan.wants_cut(items.len, true) && !cuttable.is_full() {
        let middle = items.len / 2;
        let (near, far) = items.split_at(middle);
        let (near_cuttable, far_cuttable, reducer) = cuttable.cut_fresh(middle);
        let (left, right) = pool::join_here(
            move || run(plan.halved(), near, near_cuttable),
            move |migrated| run(plan.far_half(migrated), far, far_cuttable),
        );
        return reducer.reduce(left, right);
    }
    let (begun, folder) = cuttable.begin();
    go_on::<P, K>(plan, items, begun, folder)
}

/// Runs `items` into a folder that has begun.
fn go_on<P, K>(
    mut plan: Plan,
    mut items: Items<P>,
    begun: K::Begun,
    mut folder: FolderOf<K, P::Item>,
) -> ResultOf<K, P::Item>
where
    P: Producer,
    K: Cuttable<P::Item>,
{
    let mut clock = Clock::default();
    while !folder.full() {
        if plan.wants_cut(items.len, false) {
            clock.stop(&plan);
            return cut::<P, K>(plan, items, begun, folder);
        }
        match items.run_block(folder, &mut clock, &mut plan) {
            (rest_folder, Some(rest)) => (folder, items) = (rest_folder, rest),
            (last_folder, None) => {
                clock.stop(&plan);
                drop(begun);
                return complete(last_folder);
            }
        }
    }
    clock.stop(&plan);
    drop((items, begun));
    complete(folder)
}

/// Goes on with the near half, and offers the far half.
fn cut<P, K>(
    plan: Plan,
    items: Items<P>,
    begun: K::Begun,
    folder: FolderOf<K, P::Item>,
) -> ResultOf<K, P::Item>
where
    P: Producer,
    K: Cuttable<P::Item>,
{
    let middle = items.len / 2;
    let (near, far) = items.split_at(middle);
    let Cut { near: (begun, folder), far: far_cuttable, reducer } = K::cut_begun(begun, folder, middle);
    let (left, right) = pool::join_here(
        move || go_on::<P, K>(plan.halved(), near, begun, folder),
        move |migrated| run(plan.far_half(migrated), far, far_cuttable),
    );
    reducer.reduce(left, right)
}

/// Ends a stretch.
///
/// Apart from the loop if the result consists of many words: the compiler would take it apart for the sake of this one step, and
/// carry it from item to item word by word.
#[inline]
fn complete<T, F: Folder<T>>(folder: F) -> F::Result {
    const MANY_WORDS: usize = size_of::<[usize; 8]>();

    #[inline(never)]
    fn apart<T, F: Folder<T>>(folder: F) -> F::Result {
        folder.complete()
    }

    if size_of::<F>() > MANY_WORDS { apart(folder) } else { folder.complete() }
}
