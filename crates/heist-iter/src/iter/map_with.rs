//! `map_with` and `map_init`.

use super::plumbing::{Consumer, Folder, Producer, ProducerCallback, UnindexedConsumer};
use super::{IndexedParallelIterator, ParallelIterator};

/// What [`map_with`](ParallelIterator::map_with) returns.
///
/// ```
/// # use heist::prelude::*;
/// let v: Vec<_> = (0..2).into_par_iter().map_with(10, |ten, n| *ten + n).collect();
/// assert_eq!(v, [10, 11]);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Clone)]
pub struct MapWith<I, T, F> {
    base: I,
    item: T,
    map_op: F,
}

impl_debug!(MapWith<I, T, F>);

impl<I, T, F> MapWith<I, T, F> {
    pub(super) fn new(base: I, item: T, map_op: F) -> Self {
        MapWith { base, item, map_op }
    }
}

/// What [`map_init`](ParallelIterator::map_init) returns.
///
/// ```
/// # use heist::prelude::*;
/// let v: Vec<_> = (0..2).into_par_iter().map_init(|| 10, |ten, n| *ten + n).collect();
/// assert_eq!(v, [10, 11]);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Clone)]
pub struct MapInit<I, INIT, F> {
    base: I,
    init: INIT,
    map_op: F,
}

impl_debug!(MapInit<I, INIT, F>);

impl<I, INIT, F> MapInit<I, INIT, F> {
    pub(super) fn new(base: I, init: INIT, map_op: F) -> Self {
        MapInit { base, init, map_op }
    }
}

/// How a stretch gets its value.
trait Supply: Send {
    type Value;

    /// A supply for another part.
    fn another(&self) -> Self;

    fn into_value(self) -> Self::Value;
}

/// A value that is cloned for each part.
struct Clones<T>(T);

impl<T: Clone + Send> Supply for Clones<T> {
    type Value = T;

    fn another(&self) -> Self {
        Clones(self.0.clone())
    }

    fn into_value(self) -> T {
        self.0
    }
}

/// A closure that makes a value where it is needed.
struct Makes<'f, INIT>(&'f INIT);

impl<T, INIT: Fn() -> T + Sync> Supply for Makes<'_, INIT> {
    type Value = T;

    fn another(&self) -> Self {
        Makes(self.0)
    }

    fn into_value(self) -> T {
        (self.0)()
    }
}

impl<I, T, F, R> ParallelIterator for MapWith<I, T, F>
where
    I: ParallelIterator,
    T: Send + Clone,
    F: Fn(&mut T, I::Item) -> R + Sync + Send,
    R: Send,
{
    type Item = R;
    const IS_COUNTED: bool = I::IS_COUNTED;
    const IS_UNCOUNTED: bool = I::IS_UNCOUNTED;

    fn drive_unindexed<C: UnindexedConsumer<R>>(self, consumer: C) -> C::Result {
        self.base.drive_unindexed(MapConsumer {
            base: consumer,
            supply: Clones(self.item),
            map_op: &self.map_op,
        })
    }

    fn opt_len(&self) -> Option<usize> {
        self.base.opt_len()
    }
}

impl<I, T, F, R> IndexedParallelIterator for MapWith<I, T, F>
where
    I: IndexedParallelIterator,
    T: Send + Clone,
    F: Fn(&mut T, I::Item) -> R + Sync + Send,
    R: Send,
{
    fn drive<C: Consumer<R>>(self, consumer: C) -> C::Result {
        self.base.drive(MapConsumer { base: consumer, supply: Clones(self.item), map_op: &self.map_op })
    }

    fn len(&self) -> usize {
        self.base.len()
    }

    fn with_producer<CB: ProducerCallback<R>>(self, callback: CB) -> CB::Output {
        self.base.with_producer(Callback { callback, supply: Clones(self.item), map_op: &self.map_op })
    }
}

impl<I, INIT, T, F, R> ParallelIterator for MapInit<I, INIT, F>
where
    I: ParallelIterator,
    INIT: Fn() -> T + Sync + Send,
    F: Fn(&mut T, I::Item) -> R + Sync + Send,
    R: Send,
{
    type Item = R;
    const IS_COUNTED: bool = I::IS_COUNTED;
    const IS_UNCOUNTED: bool = I::IS_UNCOUNTED;

    fn drive_unindexed<C: UnindexedConsumer<R>>(self, consumer: C) -> C::Result {
        self.base.drive_unindexed(MapConsumer {
            base: consumer,
            supply: Makes(&self.init),
            map_op: &self.map_op,
        })
    }

    fn opt_len(&self) -> Option<usize> {
        self.base.opt_len()
    }
}

impl<I, INIT, T, F, R> IndexedParallelIterator for MapInit<I, INIT, F>
where
    I: IndexedParallelIterator,
    INIT: Fn() -> T + Sync + Send,
    F: Fn(&mut T, I::Item) -> R + Sync + Send,
    R: Send,
{
    fn drive<C: Consumer<R>>(self, consumer: C) -> C::Result {
        self.base.drive(MapConsumer { base: consumer, supply: Makes(&self.init), map_op: &self.map_op })
    }

    fn len(&self) -> usize {
        self.base.len()
    }

    fn with_producer<CB: ProducerCallback<R>>(self, callback: CB) -> CB::Output {
        self.base.with_producer(Callback { callback, supply: Makes(&self.init), map_op: &self.map_op })
    }
}

struct MapConsumer<'f, C, S, F> {
    base: C,
    supply: S,
    map_op: &'f F,
}

impl<'f, T, R, C, S, F> Consumer<T> for MapConsumer<'f, C, S, F>
where
    C: Consumer<R>,
    S: Supply,
    F: Fn(&mut S::Value, T) -> R + Sync,
{
    type Folder = MapFolder<'f, C::Folder, S::Value, F>;
    type Reducer = C::Reducer;
    type Result = C::Result;

    fn split_at(self, index: usize) -> (Self, Self, C::Reducer) {
        let (left, right, reducer) = self.base.split_at(index);
        let supply = self.supply.another();
        (MapConsumer { base: left, supply, ..self }, MapConsumer { base: right, ..self }, reducer)
    }

    fn into_folder(self) -> Self::Folder {
        MapFolder { base: self.base.into_folder(), value: self.supply.into_value(), map_op: self.map_op }
    }

    fn full(&self) -> bool {
        self.base.full()
    }
}

impl<T, R, C, S, F> UnindexedConsumer<T> for MapConsumer<'_, C, S, F>
where
    C: UnindexedConsumer<R>,
    S: Supply,
    F: Fn(&mut S::Value, T) -> R + Sync,
{
    const ANYWHERE: bool = C::ANYWHERE;

    fn split_off_left(&self) -> Self {
        MapConsumer { base: self.base.split_off_left(), supply: self.supply.another(), map_op: self.map_op }
    }

    fn to_reducer(&self) -> C::Reducer {
        self.base.to_reducer()
    }
}

struct MapFolder<'f, B, V, F> {
    base: B,
    value: V,
    map_op: &'f F,
}

impl<T, R, B, V, F> Folder<T> for MapFolder<'_, B, V, F>
where
    B: Folder<R>,
    F: Fn(&mut V, T) -> R,
{
    type Result = B::Result;

    #[inline]
    fn consume(mut self, item: T) -> Self {
        let item = (self.map_op)(&mut self.value, item);
        MapFolder { base: self.base.consume(item), ..self }
    }

    #[inline]
    fn consume_iter<I: IntoIterator<Item = T>>(self, iter: I) -> Self {
        let MapFolder { base, mut value, map_op } = self;
        let base = base.consume_iter(iter.into_iter().map(|item| map_op(&mut value, item)));
        MapFolder { base, value, map_op }
    }

    fn complete(self) -> B::Result {
        drop(self.value);
        self.base.complete()
    }

    #[inline]
    fn full(&self) -> bool {
        self.base.full()
    }
}

struct Callback<'f, CB, S, F> {
    callback: CB,
    supply: S,
    map_op: &'f F,
}

impl<T, R, CB, S, F> ProducerCallback<T> for Callback<'_, CB, S, F>
where
    CB: ProducerCallback<R>,
    S: Supply,
    F: Fn(&mut S::Value, T) -> R + Sync,
{
    type Output = CB::Output;

    fn callback<P: Producer<Item = T>>(self, base: P) -> CB::Output {
        self.callback.callback(MapProducer { base, supply: self.supply, map_op: self.map_op })
    }
}

struct MapProducer<'f, P, S, F> {
    base: P,
    supply: S,
    map_op: &'f F,
}

impl<'f, R, P, S, F> Producer for MapProducer<'f, P, S, F>
where
    P: Producer,
    S: Supply,
    F: Fn(&mut S::Value, P::Item) -> R + Sync,
{
    type Item = R;
    type IntoIter = MapIter<'f, P::IntoIter, S::Value, F>;
    const COSTLY_START: bool = true;

    fn into_iter(self) -> Self::IntoIter {
        MapIter { base: self.base.into_iter(), value: self.supply.into_value(), map_op: self.map_op }
    }

    fn min_len(&self) -> usize {
        self.base.min_len()
    }

    fn max_len(&self) -> usize {
        self.base.max_len()
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        let (left, right) = self.base.split_at(index);
        let supply = self.supply.another();
        (MapProducer { base: left, supply, ..self }, MapProducer { base: right, ..self })
    }

    fn fold_with<G: Folder<R>>(self, folder: G) -> G {
        let folder = MapFolder { base: folder, value: self.supply.into_value(), map_op: self.map_op };
        let MapFolder { base, value, .. } = self.base.fold_with(folder);
        drop(value);
        base
    }
}

struct MapIter<'f, I, V, F> {
    base: I,
    value: V,
    map_op: &'f F,
}

impl<R, I, V, F> Iterator for MapIter<'_, I, V, F>
where
    I: Iterator,
    F: Fn(&mut V, I::Item) -> R,
{
    type Item = R;

    fn next(&mut self) -> Option<R> {
        self.base.next().map(|item| (self.map_op)(&mut self.value, item))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.base.size_hint()
    }
}

impl<R, I, V, F> DoubleEndedIterator for MapIter<'_, I, V, F>
where
    I: DoubleEndedIterator,
    F: Fn(&mut V, I::Item) -> R,
{
    fn next_back(&mut self) -> Option<R> {
        self.base.next_back().map(|item| (self.map_op)(&mut self.value, item))
    }
}

impl<R, I, V, F> ExactSizeIterator for MapIter<'_, I, V, F>
where
    I: ExactSizeIterator,
    F: Fn(&mut V, I::Item) -> R,
{
}
