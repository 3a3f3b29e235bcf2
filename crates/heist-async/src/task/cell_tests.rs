//! How large tasks are.

use super::*;
use std::future::{Pending, Ready};

#[test]
fn a_parked_task_is_small() {
    // A future of no size, with no output to speak of.
    let bare = Class::of(Task::<Pending<()>, ()>::LAYOUT);
    assert_eq!((size_of::<Head>(), bare.size()), (56, 80));
    // One that waits for a word or two.
    async fn waits(handle: super::super::JoinHandle<()>) {
        let _ = handle.await;
    }
    fn size<F: Future>(_: impl FnOnce(super::super::JoinHandle<()>) -> F) -> usize {
        Class::of(Task::<F, ()>::LAYOUT).size()
    }
    assert!(size(waits) <= 128, "{}", size(waits));
}

#[test]
fn what_does_not_fit_is_boxed() {
    #[derive(Clone, Copy)]
    #[repr(align(64))]
    struct Aligned(#[expect(dead_code, reason = "for its size")] u8);
    const { assert!(!Task::<Ready<[u8; 1024]>, ()>::IS_BOXED) };
    const { assert!(Task::<Ready<[u8; 4096]>, ()>::IS_BOXED) };
    const { assert!(Task::<Ready<Aligned>, ()>::IS_BOXED) };
    assert_eq!(Class::of(Task::<Ready<[u8; 4096]>, ()>::LAYOUT).size(), 64);
}
