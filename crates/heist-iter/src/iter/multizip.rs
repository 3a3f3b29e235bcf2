//! Tuples of iterators as iterators of tuples.

use super::ParallelIterator;
use super::plumbing::{Consumer, ProducerCallback, UnindexedConsumer};
use super::{
    IndexedParallelIterator, IntoParallelIterator, IntoParallelRefIterator, IntoParallelRefMutIterator,
};

/// A tuple of iterators that goes through all of them in step; it ends with the shortest one.
///
/// ```
/// # use heist::prelude::*;
/// let (a, mut b) = ([1, 2, 3], [10, 20, 30]);
/// (&a, &mut b).into_par_iter().for_each(|(a, b)| *b += a);
/// assert_eq!(b, [11, 22, 33]);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Debug, Clone)]
pub struct MultiZip<T> {
    tuple: T,
}

/// `a, b, c` becomes `a.zip(b.zip(c))`.
macro_rules! zipped {
    ($a:expr) => { $a };
    ($a:expr, $($rest:expr),+) => { $a.zip(zipped!($($rest),+)) };
}

/// `a, b, c` becomes the pattern `(a, (b, c))`.
macro_rules! nested {
    ($a:ident) => { $a };
    ($a:ident, $($rest:ident),+) => { ($a, nested!($($rest),+)) };
}

/// The smallest of some numbers.
macro_rules! least {
    ($a:expr) => { $a };
    ($a:expr, $($rest:expr),+) => { $a.min(least!($($rest),+)) };
}

macro_rules! multizip {
    ($($t:ident $v:ident $n:tt),+) => {
        impl<$($t),+> IntoParallelIterator for ($($t,)+)
        where
            $($t: IntoParallelIterator<Iter: IndexedParallelIterator>,)+
        {
            type Item = ($($t::Item,)+);
            type Iter = MultiZip<($($t::Iter,)+)>;

            fn into_par_iter(self) -> Self::Iter {
                MultiZip { tuple: ($(self.$n.into_par_iter(),)+) }
            }
        }

        impl<'a, $($t),+> IntoParallelIterator for &'a ($($t,)+)
        where
            $($t: IntoParallelRefIterator<'a, Iter: IndexedParallelIterator>,)+
        {
            type Item = ($($t::Item,)+);
            type Iter = MultiZip<($($t::Iter,)+)>;

            fn into_par_iter(self) -> Self::Iter {
                MultiZip { tuple: ($(self.$n.par_iter(),)+) }
            }
        }

        impl<'a, $($t),+> IntoParallelIterator for &'a mut ($($t,)+)
        where
            $($t: IntoParallelRefMutIterator<'a, Iter: IndexedParallelIterator>,)+
        {
            type Item = ($($t::Item,)+);
            type Iter = MultiZip<($($t::Iter,)+)>;

            fn into_par_iter(self) -> Self::Iter {
                MultiZip { tuple: ($(self.$n.par_iter_mut(),)+) }
            }
        }

        impl<$($t),+> ParallelIterator for MultiZip<($($t,)+)>
        where
            $($t: IndexedParallelIterator,)+
        {
            type Item = ($($t::Item,)+);
            const IS_COUNTED: bool = true;

            fn drive_unindexed<CONSUMER: UnindexedConsumer<Self::Item>>(self, consumer: CONSUMER) -> CONSUMER::Result {
                let zipped = zipped!($(self.tuple.$n),+);
                zipped.map(|nested!($($v),+)| ($($v,)+)).drive_unindexed(consumer)
            }

            fn opt_len(&self) -> Option<usize> {
                Some(self.len())
            }
        }

        impl<$($t),+> IndexedParallelIterator for MultiZip<($($t,)+)>
        where
            $($t: IndexedParallelIterator,)+
        {
            fn drive<CONSUMER: Consumer<Self::Item>>(self, consumer: CONSUMER) -> CONSUMER::Result {
                let zipped = zipped!($(self.tuple.$n),+);
                zipped.map(|nested!($($v),+)| ($($v,)+)).drive(consumer)
            }

            fn len(&self) -> usize {
                least!($(self.tuple.$n.len()),+)
            }

            fn with_producer<CB: ProducerCallback<Self::Item>>(self, callback: CB) -> CB::Output {
                let zipped = zipped!($(self.tuple.$n),+);
                zipped.map(|nested!($($v),+)| ($($v,)+)).with_producer(callback)
            }
        }
    };
}

multizip!(A a 0);
multizip!(A a 0, B b 1);
multizip!(A a 0, B b 1, C c 2);
multizip!(A a 0, B b 1, C c 2, D d 3);
multizip!(A a 0, B b 1, C c 2, D d 3, E e 4);
multizip!(A a 0, B b 1, C c 2, D d 3, E e 4, F f 5);
multizip!(A a 0, B b 1, C c 2, D d 3, E e 4, F f 5, G g 6);
multizip!(A a 0, B b 1, C c 2, D d 3, E e 4, F f 5, G g 6, H h 7);
multizip!(A a 0, B b 1, C c 2, D d 3, E e 4, F f 5, G g 6, H h 7, I i 8);
multizip!(A a 0, B b 1, C c 2, D d 3, E e 4, F f 5, G g 6, H h 7, I i 8, J j 9);
multizip!(A a 0, B b 1, C c 2, D d 3, E e 4, F f 5, G g 6, H h 7, I i 8, J j 9, K k 10);
multizip!(A a 0, B b 1, C c 2, D d 3, E e 4, F f 5, G g 6, H h 7, I i 8, J j 9, K k 10, L l 11);
