//! Collecting into vectors.

mod concat;
pub(super) mod lists;
mod slots;

use self::lists::{Bins, Parts};
use self::slots::{Filled, Slots};
use super::{Either, IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use std::collections::LinkedList;

/// All items in order: in one vector if their number is known, else in the vectors that the stretches made.
pub(super) fn collect_vecs<I, T>(par_iter: I) -> Either<Vec<T>, LinkedList<Vec<T>>>
where
    I: IntoParallelIterator<Item = T>,
    T: Send,
{
    let par_iter = par_iter.into_par_iter();
    // A constant is the whole condition, so that only one of the loops is compiled where the type says which.
    if I::Iter::IS_UNCOUNTED {
        Either::Right(par_iter.drive_unindexed(Bins::<Vec<T>>::new()).into_list())
    } else if let Some(len) = par_iter.opt_len() {
        let mut vec = Vec::new();
        append_known(&mut vec, par_iter, len);
        Either::Left(vec)
    } else if I::Iter::IS_COUNTED {
        uncounted()
    } else {
        Either::Right(par_iter.drive_unindexed(Bins::<Vec<T>>::new()).into_list())
    }
}

/// Puts all items at the end of `vec`.
pub(super) fn append<I, T>(vec: &mut Vec<T>, par_iter: I)
where
    I: IntoParallelIterator<Item = T>,
    T: Send,
{
    let par_iter = par_iter.into_par_iter();
    // As above.
    if I::Iter::IS_UNCOUNTED {
        append_parts(vec, par_iter.drive_unindexed(Bins::new()));
    } else if let Some(len) = par_iter.opt_len() {
        append_known(vec, par_iter, len);
    } else if I::Iter::IS_COUNTED {
        uncounted();
    } else {
        append_parts(vec, par_iter.drive_unindexed(Bins::new()));
    }
}

#[cold]
fn uncounted() -> ! {
    unreachable!("an iterator that always knows its length does not")
}

/// Puts all items of `parts` at the end of `vec`.
fn append_parts<T: Send>(vec: &mut Vec<T>, parts: Parts<Vec<T>>) {
    // The first part is most of the result, or a good share of it; to grow it in place is cheaper than to copy it.
    if vec.capacity() == 0 {
        *vec = parts.first;
        concat::append_all(vec, parts.others);
    } else {
        concat::append_all(vec, parts.into_list());
    }
}

/// Puts the `len` items at the end of `vec`, in place.
fn append_known<I: ParallelIterator>(vec: &mut Vec<I::Item>, par_iter: I, len: usize) {
    write_in_place(vec, len, |slots| par_iter.drive_unindexed(slots));
}

pub(super) fn collect_into_vec<I: IndexedParallelIterator>(par_iter: I, target: &mut Vec<I::Item>) {
    target.clear();
    let len = par_iter.len();
    write_in_place(target, len, |slots| par_iter.drive(slots));
}

pub(super) fn unzip_into_vecs<I, A, B>(par_iter: I, left: &mut Vec<A>, right: &mut Vec<B>)
where
    I: IndexedParallelIterator<Item = (A, B)>,
    A: Send,
    B: Send,
{
    left.clear();
    right.clear();
    let len = par_iter.len();
    write_in_place(left, len, |left_slots| {
        let mut left_filled = None;
        write_in_place(right, len, |right_slots| {
            let (left, right) = par_iter.drive(super::unzip::both(left_slots, right_slots));
            left_filled = Some(left);
            right
        });
        left_filled.expect("driven above")
    });
}

/// Has `drive` fill space for `len` items at the end of `vec`.
fn write_in_place<T, D>(vec: &mut Vec<T>, len: usize, drive: D)
where
    T: Send,
    D: for<'c> FnOnce(Slots<'c, T>) -> Filled<'c, T>,
{
    vec.reserve(len);
    let before = vec.len();
    let filled = drive(Slots::new(&mut vec.spare_capacity_mut()[..len]));
    assert!(filled.len() == len, "expected {len} total writes, but got {}", filled.len());
    filled.release();
    // SAFETY: the `len` slots behind the old end were filled, without a gap, and have just been released to `vec`.
    unsafe { vec.set_len(before + len) };
}
