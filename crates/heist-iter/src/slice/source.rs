//! What every indexed iterator over a slice has in common.

/// Implements the two iterator traits for a source that knows its length and makes one producer.
macro_rules! indexed_source {
    (
        impl[$($generics:tt)*] $source:ty;
        type Item = $item:ty;
        fn len(&$this:ident) -> usize { $len:expr }
        fn producer($owner:ident) { $producer:expr }
    ) => {
        impl<$($generics)*> ParallelIterator for $source {
            type Item = $item;
            const IS_COUNTED: bool = true;

            fn drive_unindexed<C: UnindexedConsumer<Self::Item>>(self, consumer: C) -> C::Result {
                bridge_lazily(self, consumer)
            }

            fn opt_len(&self) -> Option<usize> {
                Some(self.len())
            }
        }

        impl<$($generics)*> IndexedParallelIterator for $source {
            fn len(&self) -> usize {
                let $this = self;
                $len
            }

            fn drive<C: Consumer<Self::Item>>(self, consumer: C) -> C::Result {
                bridge(self, consumer)
            }

            fn with_producer<CB: ProducerCallback<Self::Item>>(self, callback: CB) -> CB::Output {
                let $owner = self;
                callback.callback($producer)
            }
        }
    };
}
