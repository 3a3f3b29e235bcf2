//! Many vectors become one: the other workers help if that is much to move.
//!
//! The space that the items go to is new, as a rule, and whoever writes to a page first has to wait for the system to provide it. So two
//! move twice as much in the same time even where one could use all of the memory's bandwidth.

use crate::pool;
use std::collections::LinkedList;
use std::mem::MaybeUninit;
use std::ptr;

/// What one worker moves at a time, in bytes: some 20 us.
const PIECE: usize = 128 * 1024;

/// Nobody is asked to help with less than so many pieces.
const HELPED: usize = 4;

/// Puts the items of all `parts` at the end of `vec`, in order.
pub(super) fn append_all<T: Send>(vec: &mut Vec<T>, mut parts: LinkedList<Vec<T>>) {
    let more = parts.iter().map(Vec::len).sum::<usize>();
    vec.reserve(more);
    if more.saturating_mul(size_of::<T>()) < HELPED * PIECE {
        for mut part in parts {
            vec.append(&mut part);
        }
        return;
    }
    let before = vec.len();
    let mut space = &mut vec.spare_capacity_mut()[..more];
    let mut pieces = Vec::new();
    for part in &mut parts {
        let len = part.len();
        // SAFETY: fewer than before. From here on the items belong to `vec`; nothing panics until that knows it, and if it did, they would
        // be leaked.
        unsafe { part.set_len(0) };
        for from in part.spare_capacity_mut()[..len].chunks(PIECE.div_ceil(size_of::<T>())) {
            let (to, rest) = space.split_at_mut(from.len());
            pieces.push(Piece { from, to });
            space = rest;
        }
    }
    debug_assert!(space.is_empty(), "every slot has its item");
    move_all(&mut pieces);
    // SAFETY: each of the `more` slots behind the old end has got an item, which nobody else owns.
    unsafe { vec.set_len(before + more) };
}

/// Items, and where they go.
struct Piece<'a, T> {
    from: &'a [MaybeUninit<T>],
    to: &'a mut [MaybeUninit<T>],
}

// SAFETY: a piece stands for its items, which change threads with it; nobody else looks at them.
unsafe impl<T: Send> Send for Piece<'_, T> {}

fn move_all<T: Send>(pieces: &mut [Piece<'_, T>]) {
    if let [piece] = pieces {
        assert_eq!(piece.from.len(), piece.to.len(), "a piece has a slot for each item");
        // SAFETY: as long as each other, by the assertion, and apart: one is borrowed exclusively.
        unsafe { ptr::copy_nonoverlapping(piece.from.as_ptr(), piece.to.as_mut_ptr(), piece.from.len()) };
        return;
    }
    let (near, far) = pieces.split_at_mut(pieces.len() / 2);
    pool::join(|_| move_all(near), |_| move_all(far));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn everything_arrives_once_and_in_order() {
        let item = Arc::new(());
        let lens = [1, 70_000, 0, 3, 50_000, 16_384, 2];
        let mut next = 0..;
        let parts: LinkedList<Vec<(usize, Arc<()>)>> =
            lens.iter().map(|&len| next.by_ref().take(len).map(|n| (n, item.clone())).collect()).collect();
        let mut vec = vec![(usize::MAX, item.clone())];
        append_all(&mut vec, parts);
        assert_eq!(vec.len(), 1 + lens.iter().sum::<usize>());
        assert!(vec[1..].iter().map(|(n, _)| *n).eq(0..vec.len() - 1));
        assert_eq!(Arc::strong_count(&item), 1 + vec.len());
        drop(vec);
        assert_eq!(Arc::strong_count(&item), 1);
    }

    #[test]
    fn items_without_size_are_counted() {
        let mut vec = vec![()];
        append_all(&mut vec, LinkedList::from([vec![(); 5], Vec::new(), vec![(); 1000]]));
        assert_eq!(vec.len(), 1006);
    }
}
