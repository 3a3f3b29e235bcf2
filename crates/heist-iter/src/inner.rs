//! Iterators that are another one under a name of their own.

/// Implements [`ParallelIterator`](crate::iter::ParallelIterator) by the field `inner`.
macro_rules! iterate_inner {
    (impl[$($generics:tt)*] $outer:ty; type Item = $item:ty;) => {
        impl<$($generics)*> ParallelIterator for $outer {
            type Item = $item;

            fn drive_unindexed<C: UnindexedConsumer<Self::Item>>(self, consumer: C) -> C::Result {
                self.inner.drive_unindexed(consumer)
            }

            fn opt_len(&self) -> Option<usize> {
                self.inner.opt_len()
            }
        }
    };
}

/// Implements [`IndexedParallelIterator`](crate::iter::IndexedParallelIterator) as well.
macro_rules! iterate_indexed_inner {
    (impl[$($generics:tt)*] $outer:ty; type Item = $item:ty;) => {
        iterate_inner! {
            impl[$($generics)*] $outer;
            type Item = $item;
        }

        impl<$($generics)*> IndexedParallelIterator for $outer {
            fn len(&self) -> usize {
                self.inner.len()
            }

            fn drive<C: Consumer<Self::Item>>(self, consumer: C) -> C::Result {
                self.inner.drive(consumer)
            }

            fn with_producer<CB: ProducerCallback<Self::Item>>(self, callback: CB) -> CB::Output {
                self.inner.with_producer(callback)
            }
        }
    };
}

/// Turns a collection that cannot be cut into a vector of what it yields, which can.
macro_rules! iterate_gathered {
    (impl[$($generics:tt)*] $collection:ty; type Item = $item:ty; type Iter = $iter:ident<$($arg:tt),*>;) => {
        impl<$($generics)*> IntoParallelIterator for $collection {
            type Item = $item;
            type Iter = $iter<$($arg),*>;

            fn into_par_iter(self) -> Self::Iter {
                $iter { inner: Vec::from_iter(self).into_par_iter() }
            }
        }
    };
}
