//! `unzip`, `partition`, `partition_map`: one loop into two collections.
//!
//! A collection only tells how it consumes when it is extended. So the left collection is extended with an iterator
//! that, when driven, extends the right collection with an iterator that, when driven, drives the loop into both
//! consumers.

use super::plumbing::{Consumer, Folder, Reducer, UnindexedConsumer};
use super::{Either, FromParallelIterator, IntoParallelIterator, ParallelExtend, ParallelIterator};

pub(super) fn unzip<I, A, B, FromA, FromB>(pairs: I) -> (FromA, FromB)
where
    I: ParallelIterator<Item = (A, B)>,
    FromA: Default + Send + ParallelExtend<A>,
    FromB: Default + Send + ParallelExtend<B>,
    A: Send,
    B: Send,
{
    deal(pairs, Pair)
}

pub(super) fn partition<I, A, B, P>(items: I, predicate: P) -> (A, B)
where
    I: ParallelIterator,
    A: Default + Send + ParallelExtend<I::Item>,
    B: Default + Send + ParallelExtend<I::Item>,
    P: Fn(&I::Item) -> bool + Sync + Send,
{
    deal(items, Partition(predicate))
}

pub(super) fn partition_map<I, A, B, P, L, R>(items: I, predicate: P) -> (A, B)
where
    I: ParallelIterator,
    A: Default + Send + ParallelExtend<L>,
    B: Default + Send + ParallelExtend<R>,
    P: Fn(I::Item) -> Either<L, R> + Sync + Send,
    L: Send,
    R: Send,
{
    deal(items, PartitionMap(predicate))
}

/// The consumer of pairs that sends their halves to two consumers.
pub(super) fn both<A, B>(left: A, right: B) -> Dealt<'static, A, B, Pair> {
    Dealt { deal: &Pair, left, right }
}

fn deal<I, D, FromA, FromB>(items: I, deal: D) -> (FromA, FromB)
where
    I: ParallelIterator,
    D: Deal<I::Item>,
    FromA: Default + ParallelExtend<D::Left>,
    FromB: Default + Send + ParallelExtend<D::Right>,
{
    let (mut left, mut right) = (FromA::default(), FromB::default());
    left.par_extend(LeftSide { items, deal: &deal, right: &mut right });
    (left, right)
}

/// Who gets an item.
pub(super) trait Deal<T>: Sync + Send {
    type Left: Send;
    type Right: Send;

    /// Whether each side gets one of every item, so that both are as many as the items.
    const KEEPS_LEN: bool;

    fn deal<FA, FB>(&self, item: T, left: FA, right: FB) -> (FA, FB)
    where
        FA: Folder<Self::Left>,
        FB: Folder<Self::Right>;
}

pub(super) struct Pair;

impl<A: Send, B: Send> Deal<(A, B)> for Pair {
    type Left = A;
    type Right = B;
    const KEEPS_LEN: bool = true;

    #[inline]
    fn deal<FA: Folder<A>, FB: Folder<B>>(&self, item: (A, B), left: FA, right: FB) -> (FA, FB) {
        (left.consume(item.0), right.consume(item.1))
    }
}

struct Partition<P>(P);

impl<T: Send, P: Fn(&T) -> bool + Sync + Send> Deal<T> for Partition<P> {
    type Left = T;
    type Right = T;
    const KEEPS_LEN: bool = false;

    #[inline]
    fn deal<FA: Folder<T>, FB: Folder<T>>(&self, item: T, left: FA, right: FB) -> (FA, FB) {
        if (self.0)(&item) { (left.consume(item), right) } else { (left, right.consume(item)) }
    }
}

struct PartitionMap<P>(P);

impl<T, L: Send, R: Send, P: Fn(T) -> Either<L, R> + Sync + Send> Deal<T> for PartitionMap<P> {
    type Left = L;
    type Right = R;
    const KEEPS_LEN: bool = false;

    #[inline]
    fn deal<FA: Folder<L>, FB: Folder<R>>(&self, item: T, left: FA, right: FB) -> (FA, FB) {
        match (self.0)(item) {
            Either::Left(item) => (left.consume(item), right),
            Either::Right(item) => (left, right.consume(item)),
        }
    }
}

/// What the left collection is extended with.
struct LeftSide<'b, I, D, FromB> {
    items: I,
    deal: &'b D,
    right: &'b mut FromB,
}

impl<I, D, FromB> ParallelIterator for LeftSide<'_, I, D, FromB>
where
    I: ParallelIterator,
    D: Deal<I::Item>,
    FromB: Send + ParallelExtend<D::Right>,
{
    type Item = D::Left;

    fn drive_unindexed<C: UnindexedConsumer<D::Left>>(self, consumer: C) -> C::Result {
        let mut result = None;
        self.right.par_extend(RightSide {
            items: self.items,
            deal: self.deal,
            left: consumer,
            left_result: &mut result,
        });
        // The left consumer's result cannot be made up by anybody else.
        result.expect("unzip consumers didn't execute!")
    }

    fn opt_len(&self) -> Option<usize> {
        if D::KEEPS_LEN { self.items.opt_len() } else { None }
    }
}

/// What the right collection is extended with.
struct RightSide<'r, I, D, CA, RA> {
    items: I,
    deal: &'r D,
    left: CA,
    left_result: &'r mut Option<RA>,
}

impl<I, D, CA> ParallelIterator for RightSide<'_, I, D, CA, CA::Result>
where
    I: ParallelIterator,
    D: Deal<I::Item>,
    CA: UnindexedConsumer<D::Left>,
{
    type Item = D::Right;

    fn drive_unindexed<C: UnindexedConsumer<D::Right>>(self, consumer: C) -> C::Result {
        let dealt = Dealt { deal: self.deal, left: self.left, right: consumer };
        let (left, right) = self.items.drive_unindexed(dealt);
        *self.left_result = Some(left);
        right
    }

    fn opt_len(&self) -> Option<usize> {
        if D::KEEPS_LEN { self.items.opt_len() } else { None }
    }
}

/// Two consumers, folders or reducers, and who gets what.
pub(super) struct Dealt<'d, A, B, D> {
    deal: &'d D,
    left: A,
    right: B,
}

impl<'d, T, A, B, D> Consumer<T> for Dealt<'d, A, B, D>
where
    D: Deal<T>,
    A: Consumer<D::Left>,
    B: Consumer<D::Right>,
{
    type Folder = Dealt<'d, A::Folder, B::Folder, D>;
    type Reducer = BothReducers<A::Reducer, B::Reducer>;
    type Result = (A::Result, B::Result);

    fn split_at(self, index: usize) -> (Self, Self, Self::Reducer) {
        let (left_a, right_a, reducer_a) = self.left.split_at(index);
        let (left_b, right_b, reducer_b) = self.right.split_at(index);
        (
            Dealt { deal: self.deal, left: left_a, right: left_b },
            Dealt { deal: self.deal, left: right_a, right: right_b },
            BothReducers(reducer_a, reducer_b),
        )
    }

    fn into_folder(self) -> Self::Folder {
        Dealt { deal: self.deal, left: self.left.into_folder(), right: self.right.into_folder() }
    }

    fn full(&self) -> bool {
        self.left.full() && self.right.full()
    }

    const CUTS_BEGUN: bool = A::CUTS_BEGUN && B::CUTS_BEGUN;

    fn cut_begun(folder: Self::Folder, index: usize) -> (Self::Folder, Self, Self::Reducer) {
        let deal = folder.deal;
        let (near_a, far_a, reducer_a) = A::cut_begun(folder.left, index);
        let (near_b, far_b, reducer_b) = B::cut_begun(folder.right, index);
        let far = Dealt { deal, left: far_a, right: far_b };
        (Dealt { deal, left: near_a, right: near_b }, far, BothReducers(reducer_a, reducer_b))
    }
}

impl<T, A, B, D> UnindexedConsumer<T> for Dealt<'_, A, B, D>
where
    D: Deal<T>,
    A: UnindexedConsumer<D::Left>,
    B: UnindexedConsumer<D::Right>,
{
    const ANYWHERE: bool = A::ANYWHERE && B::ANYWHERE;

    fn split_off_left(&self) -> Self {
        Dealt { deal: self.deal, left: self.left.split_off_left(), right: self.right.split_off_left() }
    }

    fn to_reducer(&self) -> Self::Reducer {
        BothReducers(self.left.to_reducer(), self.right.to_reducer())
    }
}

impl<T, A, B, D> Folder<T> for Dealt<'_, A, B, D>
where
    D: Deal<T>,
    A: Folder<D::Left>,
    B: Folder<D::Right>,
{
    type Result = (A::Result, B::Result);

    #[inline]
    fn consume(self, item: T) -> Self {
        let (left, right) = self.deal.deal(item, self.left, self.right);
        Dealt { deal: self.deal, left, right }
    }

    fn complete(self) -> Self::Result {
        (self.left.complete(), self.right.complete())
    }

    #[inline]
    fn full(&self) -> bool {
        // One side may be full while the other still wants items.
        self.left.full() && self.right.full()
    }
}

pub(super) struct BothReducers<A, B>(A, B);

impl<A, B, RA, RB> Reducer<(RA, RB)> for BothReducers<A, B>
where
    A: Reducer<RA>,
    B: Reducer<RB>,
{
    fn reduce(self, left: (RA, RB), right: (RA, RB)) -> (RA, RB) {
        (self.0.reduce(left.0, right.0), self.1.reduce(left.1, right.1))
    }
}

impl<A, B, FromA, FromB> ParallelExtend<(A, B)> for (FromA, FromB)
where
    A: Send,
    B: Send,
    FromA: Send + ParallelExtend<A>,
    FromB: Send + ParallelExtend<B>,
{
    fn par_extend<I: IntoParallelIterator<Item = (A, B)>>(&mut self, par_iter: I) {
        self.0.par_extend(LeftSide { items: par_iter.into_par_iter(), deal: &Pair, right: &mut self.1 });
    }
}

impl<L, R, A, B> ParallelExtend<Either<L, R>> for (A, B)
where
    L: Send,
    R: Send,
    A: Send + ParallelExtend<L>,
    B: Send + ParallelExtend<R>,
{
    fn par_extend<I: IntoParallelIterator<Item = Either<L, R>>>(&mut self, par_iter: I) {
        let deal = PartitionMap(|item| item);
        self.0.par_extend(LeftSide { items: par_iter.into_par_iter(), deal: &deal, right: &mut self.1 });
    }
}

impl<A, B, FromA, FromB> FromParallelIterator<(A, B)> for (FromA, FromB)
where
    A: Send,
    B: Send,
    FromA: Send + FromParallelIterator<A>,
    FromB: Send + FromParallelIterator<B>,
{
    fn from_par_iter<I: IntoParallelIterator<Item = (A, B)>>(par_iter: I) -> Self {
        let (left, right): (Made<FromA>, Made<FromB>) = par_iter.into_par_iter().unzip();
        (left.unwrap(), right.unwrap())
    }
}

impl<L, R, A, B> FromParallelIterator<Either<L, R>> for (A, B)
where
    L: Send,
    R: Send,
    A: Send + FromParallelIterator<L>,
    B: Send + FromParallelIterator<R>,
{
    fn from_par_iter<I: IntoParallelIterator<Item = Either<L, R>>>(par_iter: I) -> Self {
        let (left, right): (Made<A>, Made<B>) = par_iter.into_par_iter().partition_map(|item| item);
        (left.unwrap(), right.unwrap())
    }
}

/// Something that can only be made, not extended, in the place of something to extend.
struct Made<C>(Option<C>);

impl<C> Made<C> {
    fn unwrap(self) -> C {
        self.0.expect("`deal` extends both sides")
    }
}

impl<C> Default for Made<C> {
    fn default() -> Self {
        Made(None)
    }
}

impl<T: Send, C: Send + FromParallelIterator<T>> ParallelExtend<T> for Made<C> {
    fn par_extend<I: IntoParallelIterator<Item = T>>(&mut self, par_iter: I) {
        self.0 = Some(par_iter.into_par_iter().collect());
    }
}
