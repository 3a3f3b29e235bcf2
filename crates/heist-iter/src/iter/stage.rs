//! The consumer side of adaptors that look at one item at a time and keep no state of their own.

use super::plumbing::{Consumer, Folder, UnindexedConsumer};

/// What an adaptor does with each item before (or instead of) handing it on.
///
/// A stage is a copyable view, usually a reference to the user's closure: every part of the loop has a copy.
pub(super) trait Stage<T>: Copy + Send {
    /// What goes on.
    type Out;

    /// Hands on what `item` becomes.
    fn feed<F: Folder<Self::Out>>(self, folder: F, item: T) -> F;

    /// Hands on what the items of `iter` become, until `folder` is full.
    ///
    /// Looks at `full` after every item, also after those that are not handed on: they may be many.
    #[inline]
    fn feed_iter<F: Folder<Self::Out>, I: Iterator<Item = T>>(self, mut folder: F, iter: I) -> F {
        for item in iter {
            folder = self.feed(folder, item);
            if self.is_full() || folder.full() {
                break;
            }
        }
        folder
    }

    /// Whether the stage itself wants no more items.
    #[inline]
    fn is_full(self) -> bool {
        false
    }
}

/// A consumer or folder behind a stage.
#[derive(Debug)]
pub(super) struct Through<B, S> {
    base: B,
    stage: S,
}

impl<B, S> Through<B, S> {
    pub(super) fn new(base: B, stage: S) -> Self {
        Through { base, stage }
    }
}

impl<T, B, S> Consumer<T> for Through<B, S>
where
    S: Stage<T>,
    B: Consumer<S::Out>,
{
    type Folder = Through<B::Folder, S>;
    type Reducer = B::Reducer;
    type Result = B::Result;

    fn split_at(self, index: usize) -> (Self, Self, B::Reducer) {
        let (left, right, reducer) = self.base.split_at(index);
        (Through::new(left, self.stage), Through::new(right, self.stage), reducer)
    }

    fn into_folder(self) -> Self::Folder {
        Through::new(self.base.into_folder(), self.stage)
    }

    #[inline]
    fn full(&self) -> bool {
        self.stage.is_full() || self.base.full()
    }

    const CUTS_BEGUN: bool = B::CUTS_BEGUN;

    fn cut_begun(folder: Self::Folder, index: usize) -> (Self::Folder, Self, B::Reducer) {
        let (base, far, reducer) = B::cut_begun(folder.base, index);
        (Through::new(base, folder.stage), Through::new(far, folder.stage), reducer)
    }
}

impl<T, B, S> UnindexedConsumer<T> for Through<B, S>
where
    S: Stage<T>,
    B: UnindexedConsumer<S::Out>,
{
    const ANYWHERE: bool = B::ANYWHERE;

    fn split_off_left(&self) -> Self {
        Through::new(self.base.split_off_left(), self.stage)
    }

    fn to_reducer(&self) -> B::Reducer {
        self.base.to_reducer()
    }
}

impl<T, B, S> Folder<T> for Through<B, S>
where
    S: Stage<T>,
    B: Folder<S::Out>,
{
    type Result = B::Result;

    #[inline]
    fn consume(self, item: T) -> Self {
        Through { base: self.stage.feed(self.base, item), stage: self.stage }
    }

    #[inline]
    fn consume_iter<I: IntoIterator<Item = T>>(self, iter: I) -> Self {
        Through { base: self.stage.feed_iter(self.base, iter.into_iter()), stage: self.stage }
    }

    fn complete(self) -> B::Result {
        self.base.complete()
    }

    #[inline]
    fn full(&self) -> bool {
        self.stage.is_full() || self.base.full()
    }
}
