//! Cells come from where they should, each to one taker at a time.

use super::super::LARGEST;
use super::*;
use crate::task::cell::Head;
use std::alloc::Layout;
use std::collections::HashSet;
use std::sync::mpsc;

/// A class that no other test uses, so that the figures are ours.
const QUIET: Class = Class((SIZES.len() - 2) as u8);

#[test]
fn classes_fit() {
    for size in 1..=LARGEST {
        let class = Class::of(Layout::from_size_align(size, 8).unwrap());
        assert!(class.size() >= size);
        assert!(class.0 == 0 || SIZES[usize::from(class.0) - 1] < size, "{size} is in a class too large");
    }
    assert!(SIZES.iter().all(|size| size % ALIGN == 0));
    assert!((0..SIZES.len() as u8).all(|c| chunk::capacity(Class(c)) >= Class(c).batch() / 2));
}

#[test]
fn cells_are_apart_aligned_and_have_places_of_their_own() {
    let class = Class(1);
    let cells: Vec<_> = (0..5_000).map(|_| take(class)).collect();
    let mut addresses: Vec<_> = cells.iter().map(|cell| cell.as_ptr().addr()).collect();
    addresses.sort_unstable();
    assert!(addresses.windows(2).all(|w| w[0] + class.size() <= w[1]), "two cells overlap");
    assert!(addresses.iter().all(|a| a % ALIGN == 0));
    let places: HashSet<_> = cells.iter().map(|&cell| place(cell)).collect();
    assert_eq!(places.len(), cells.len());
    for cell in cells {
        // SAFETY: taken above.
        unsafe { give(cell, class) };
    }
}

#[test]
fn cells_given_on_another_thread_come_back_when_it_ends() {
    struct Cells(Vec<NonNull<Head>>);
    // SAFETY: free cells.
    unsafe impl Send for Cells {}
    let count = |cells: &Cells| cells.0.iter().map(|cell| cell.as_ptr().addr()).collect::<HashSet<_>>();
    let take_all = |n: usize| Cells((0..n).map(|_| take(QUIET)).collect());

    let cells = take_all(1_000);
    let first = count(&cells);
    assert_eq!(first.len(), 1_000);
    let (tx, rx) = mpsc::channel::<Cells>();
    let other = std::thread::spawn(move || {
        for cell in rx.recv().unwrap().0 {
            // SAFETY: taken on the other thread.
            unsafe { give(cell, QUIET) };
        }
    });
    tx.send(cells).unwrap();
    other.join().unwrap();

    let cells = take_all(1_000);
    let second = count(&cells);
    // What the first thread had at hand beyond the thousand is all that may be new.
    assert!(first.intersection(&second).count() >= 1_000 - 2 * QUIET.batch() as usize, "cells were lost");
    for cell in cells.0 {
        // SAFETY: taken above.
        unsafe { give(cell, QUIET) };
    }
}

#[test]
fn a_thread_that_ends_may_still_take_and_give() {
    struct Late(Class);
    impl Drop for Late {
        fn drop(&mut self) {
            let cells: Vec<_> = (0..100).map(|_| take(self.0)).collect();
            for cell in cells {
                // SAFETY: taken above.
                unsafe { give(cell, self.0) };
            }
        }
    }
    std::thread_local! {
        static LATE: Late = const { Late(Class(3)) };
    }
    std::thread::spawn(|| {
        // Registered before the magazines, so dropped after them.
        LATE.with(|_| ());
        // SAFETY: taken just now.
        unsafe { give(take(Class(3)), Class(3)) };
    })
    .join()
    .unwrap();
}
