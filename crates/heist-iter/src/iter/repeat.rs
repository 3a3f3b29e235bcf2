//! `repeat` and `repeat_n`.

use super::plumbing::{
    Consumer, Folder, Producer, ProducerCallback, UnindexedConsumer, UnindexedProducer, bridge,
    bridge_lazily, bridge_unindexed,
};
use super::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator, Zip};

/// Clones of `element` without end.
///
/// Whoever uses it must stop by itself, as [`find_any`](ParallelIterator::find_any) does, or bound it by
/// [`take`](Repeat::take) or [`zip`](Repeat::zip).
///
/// ```
/// # use heist::prelude::*;
/// use heist::iter::repeat;
/// let v: Vec<_> = repeat('x').zip(0..2).collect();
/// assert_eq!(v, [('x', 0), ('x', 1)]);
/// ```
pub fn repeat<T: Clone + Send>(element: T) -> Repeat<T> {
    Repeat { element }
}

/// What [`repeat`] returns.
///
/// ```
/// # use heist::prelude::*;
/// assert_eq!(heist::iter::repeat(2).find_any(|n| *n == 2), Some(2));
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Debug, Clone)]
pub struct Repeat<T> {
    element: T,
}

impl<T: Clone + Send> Repeat<T> {
    /// The first `n` clones.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// assert_eq!(heist::iter::repeat(2).take(5).sum::<i32>(), 10);
    /// ```
    pub fn take(self, n: usize) -> RepeatN<T> {
        repeat_n(self.element, n)
    }

    /// Pairs clones with the items of `zip_op`, as many as there are.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// assert_eq!(heist::iter::repeat(2).zip(0..5).count(), 5);
    /// ```
    pub fn zip<Z>(self, zip_op: Z) -> Zip<RepeatN<T>, Z::Iter>
    where
        Z: IntoParallelIterator<Iter: IndexedParallelIterator>,
    {
        let zip_op = zip_op.into_par_iter();
        self.take(zip_op.len()).zip(zip_op)
    }
}

impl<T: Clone + Send> ParallelIterator for Repeat<T> {
    type Item = T;

    fn drive_unindexed<C: UnindexedConsumer<T>>(self, consumer: C) -> C::Result {
        bridge_unindexed(Endless(self.element), consumer)
    }
}

struct Endless<T>(T);

impl<T: Clone + Send> UnindexedProducer for Endless<T> {
    type Item = T;

    fn split(self) -> (Self, Option<Self>) {
        let other = Endless(self.0.clone());
        (self, Some(other))
    }

    fn fold_with<F: Folder<T>>(self, folder: F) -> F {
        folder.consume_iter(std::iter::repeat(self.0))
    }
}

/// `n` times `element`, which is moved out last.
///
/// ```
/// # use heist::prelude::*;
/// use heist::iter::repeat_n;
/// let v: Vec<_> = repeat_n('x', 3).collect();
/// assert_eq!(v, ['x'; 3]);
/// ```
pub fn repeat_n<T: Clone + Send>(element: T, n: usize) -> RepeatN<T> {
    RepeatN { element: (n > 0).then_some(element), n }
}

/// [`repeat_n`] by its old name.
///
/// ```
/// # #![allow(deprecated)]
/// # use heist::prelude::*;
/// assert_eq!(heist::iter::repeatn(1, 3).sum::<i32>(), 3);
/// ```
#[deprecated(note = "use `repeat_n`")]
pub fn repeatn<T: Clone + Send>(element: T, n: usize) -> RepeatN<T> {
    repeat_n(element, n)
}

/// What [`repeat_n`] returns.
///
/// ```
/// # use heist::prelude::*;
/// assert_eq!(heist::iter::repeat_n(2, 4).len(), 4);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Debug, Clone)]
pub struct RepeatN<T> {
    /// `None` if and only if `n` is 0.
    element: Option<T>,
    n: usize,
}

impl<T: Clone + Send> ParallelIterator for RepeatN<T> {
    type Item = T;
    const IS_COUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<T>>(self, consumer: C) -> C::Result {
        bridge_lazily(self, consumer)
    }

    fn opt_len(&self) -> Option<usize> {
        Some(self.n)
    }
}

impl<T: Clone + Send> IndexedParallelIterator for RepeatN<T> {
    fn drive<C: Consumer<T>>(self, consumer: C) -> C::Result {
        bridge(self, consumer)
    }

    fn len(&self) -> usize {
        self.n
    }

    fn with_producer<CB: ProducerCallback<T>>(self, callback: CB) -> CB::Output {
        callback.callback(RepeatNProducer { element: self.element, n: self.n })
    }
}

/// Producer and iterator in one.
struct RepeatNProducer<T> {
    /// `None` if and only if `n` is 0.
    element: Option<T>,
    n: usize,
}

impl<T: Clone + Send> Producer for RepeatNProducer<T> {
    type Item = T;
    type IntoIter = Self;

    fn into_iter(self) -> Self {
        self
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        let rest = self.n - index;
        let (left, right) = match index {
            0 => (None, self.element),
            _ if rest == 0 => (self.element, None),
            _ => (self.element.clone(), self.element),
        };
        (RepeatNProducer { element: left, n: index }, RepeatNProducer { element: right, n: rest })
    }
}

impl<T: Clone> Iterator for RepeatNProducer<T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        if self.n > 1 {
            self.n -= 1;
            self.element.clone()
        } else {
            self.n = 0;
            self.element.take()
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.n, Some(self.n))
    }

    /// Clones nothing that is passed over, as with a step.
    #[inline]
    fn nth(&mut self, passed: usize) -> Option<T> {
        if passed >= self.n {
            *self = RepeatNProducer { element: None, n: 0 };
            return None;
        }
        self.n -= passed;
        self.next()
    }
}

impl<T: Clone> DoubleEndedIterator for RepeatNProducer<T> {
    #[inline]
    fn next_back(&mut self) -> Option<T> {
        self.next()
    }

    #[inline]
    fn nth_back(&mut self, passed: usize) -> Option<T> {
        self.nth(passed)
    }
}

impl<T: Clone> ExactSizeIterator for RepeatNProducer<T> {}
