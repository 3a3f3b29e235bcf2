//! What is panicked with: the words that programs and their tests know from rayon.

use heist_iter::iter::plumbing::{Consumer, ProducerCallback, UnindexedConsumer};
use heist_iter::iter::{self, IntoParallelIterator};
use heist_iter::prelude::*;
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What `action` panics with.
fn words<R>(action: impl FnOnce() -> R) -> String {
    let payload = catch_unwind(AssertUnwindSafe(|| drop(action()))).expect_err("no panic");
    match payload.downcast::<String>() {
        Ok(message) => *message,
        Err(payload) => payload.downcast::<&str>().expect("a message").to_string(),
    }
}

fn ten() -> impl IndexedParallelIterator<Item = u8> {
    (0..10).into_par_iter()
}

#[test]
fn sizes_that_are_zero() {
    let mut v = [0; 4];
    for message in [
        words(|| ten().chunks(0)),
        words(|| ten().fold_chunks(0, || 0, |a, b| a + b)),
        words(|| ten().fold_chunks_with(0, 0, |a, b| a + b)),
        words(|| v.par_chunks(0).len()),
        words(|| v.par_chunks_exact(0).len()),
        words(|| v.par_rchunks(0).len()),
        words(|| v.par_rchunks_exact(0).len()),
        words(|| v.par_chunks_mut(0).len()),
        words(|| v.par_chunks_exact_mut(0).len()),
        words(|| v.par_rchunks_mut(0).len()),
        words(|| v.par_rchunks_exact_mut(0).len()),
    ] {
        assert!(message.contains("chunk_size must not be zero"), "{message}");
    }
    assert_eq!(words(|| ten().by_uniform_blocks(0)), "block_size must not be zero");
    words(|| ten().step_by(0).count());
    words(|| v.par_windows(0).len());
}

#[test]
fn lengths_that_do_not_fit() {
    let unequal = words(|| ten().zip_eq(0..9));
    assert!(unequal.contains("iterators must have the same length"), "{unequal}");
    let most = || iter::repeat_n((), usize::MAX);
    assert_eq!(words(|| most().chain(iter::once(())).len()), "overflow");
    assert_eq!(words(|| most().interleave(most()).len()), "overflow");
    assert_eq!(words(|| most().intersperse(()).len()), "overflow");
}

#[test]
fn ranges_that_are_not_there() {
    let drain = |range: (Bound<usize>, Bound<usize>)| words(|| vec![0; 5].par_drain(range).count());
    let (included, excluded, all) =
        (Bound::Included::<usize>, Bound::Excluded::<usize>, Bound::Unbounded::<usize>);
    assert_eq!(drain((included(6), all)), "range start Included(6) should be <= length 5");
    assert_eq!(
        drain((excluded(usize::MAX), all)),
        format!("range start Excluded({}) should be <= length 5", usize::MAX)
    );
    assert_eq!(drain((all, excluded(6))), "range end Excluded(6) should be <= length 5");
    assert_eq!(drain((all, included(5))), "range end Included(5) should be <= length 5");
    assert_eq!(
        drain((included(3), excluded(2))),
        "range start Included(3) should be <= range end Excluded(2)"
    );
    assert_eq!(
        words(|| String::from("abc").par_drain(..4).count()),
        "range end Excluded(4) should be <= length 3"
    );
}

/// Says that it has `claimed` items, and has `items`.
struct Liar {
    claimed: usize,
    items: usize,
}

impl ParallelIterator for Liar {
    type Item = u8;

    fn drive_unindexed<C: UnindexedConsumer<u8>>(self, consumer: C) -> C::Result {
        self.drive(consumer)
    }

    fn opt_len(&self) -> Option<usize> {
        Some(self.claimed)
    }
}

impl IndexedParallelIterator for Liar {
    fn len(&self) -> usize {
        self.claimed
    }

    fn drive<C: Consumer<u8>>(self, consumer: C) -> C::Result {
        iter::repeat_n(1, self.items).drive(consumer)
    }

    fn with_producer<CB: ProducerCallback<u8>>(self, callback: CB) -> CB::Output {
        iter::repeat_n(1, self.items).with_producer(callback)
    }
}

#[test]
fn iterators_that_do_not_keep_their_word() {
    let collect = |claimed, items| words(|| Liar { claimed, items }.collect_into_vec(&mut Vec::new()));
    assert_eq!(collect(3, 2), "expected 3 total writes, but got 2");
    assert_eq!(collect(2, 3), "too many values pushed to consumer");
}

/// Extends nothing, and does not even look.
#[derive(Default)]
struct Lazy;

impl ParallelExtend<u8> for Lazy {
    fn par_extend<I: IntoParallelIterator<Item = u8>>(&mut self, _: I) {}
}

#[test]
fn collections_that_do_not_drive() {
    let message = words(|| ten().map(|n| (n, n)).unzip::<_, _, Vec<u8>, Lazy>());
    assert_eq!(message, "unzip consumers didn't execute!");
}
