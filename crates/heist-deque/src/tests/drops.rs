//! Every item is dropped once, whatever its size, wherever it is left.

use crate::{Options, Owner, Steal, Thief, deque_with};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

fn near_wrap<T: Send>() -> (Owner<T>, Thief<T>) {
    deque_with(Options { capacity: 2, start: (1 << 12) - 3, ..Options::default() })
}

#[test]
fn items_left_behind_are_dropped_once() {
    let token = Arc::new(());
    for (pushed, shared, owner_last) in
        [(0, 0, true), (7, 0, true), (7, 7, false), (7, 3, false), (100, 50, true)]
    {
        let (owner, thief) = near_wrap();
        for i in 0..pushed {
            owner.push(token.clone());
            if i + 1 == shared {
                owner.share_all();
            }
        }
        let stolen = thief.steal();
        drop(owner.pop());
        assert_eq!(Arc::strong_count(&token) - 1, owner.len() + usize::from(stolen.is_success()));
        if owner_last {
            drop(thief);
            drop(owner);
        } else {
            drop(owner);
            drop(thief);
        }
        drop(stolen);
        assert_eq!(Arc::strong_count(&token), 1, "{pushed} pushed, {shared} shared");
    }
}

#[test]
fn what_a_leaving_owner_kept_is_open_to_the_thieves() {
    let (owner, thief) = near_wrap();
    (0..5).for_each(|i| owner.push(i));
    drop(owner);
    assert!((0..5).all(|i| thief.steal() == Steal::Success(i)));
    assert!(thief.steal().is_empty());
}

#[test]
fn a_panicking_drop_does_not_keep_the_others_from_being_dropped() {
    struct Loud {
        _token: Arc<()>,
        panics: bool,
    }
    impl Drop for Loud {
        fn drop(&mut self) {
            if self.panics {
                panic!("planned");
            }
        }
    }
    let token = Arc::new(());
    let (owner, thief) = near_wrap();
    for i in 0..9 {
        owner.push(Loud { _token: token.clone(), panics: i == 4 });
    }
    drop(thief);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(owner))).is_err());
    assert_eq!(Arc::strong_count(&token), 1);
}

#[test]
fn items_without_size_are_counted_and_dropped() {
    thread_local!(static DROPS: Cell<usize> = const { Cell::new(0) });
    struct Nothing;
    impl Drop for Nothing {
        fn drop(&mut self) {
            DROPS.set(DROPS.get() + 1);
        }
    }
    let (owner, thief) = near_wrap();
    (0..100).for_each(|_| owner.push(Nothing));
    owner.share_all();
    assert!(thief.steal().is_success());
    assert!(owner.pop().is_some());
    assert_eq!((DROPS.get(), owner.len()), (2, 98));
    drop(thief);
    drop(owner);
    assert_eq!(DROPS.get(), 100);
}

#[test]
fn items_of_many_words_arrive_whole() {
    type Wide = ([u64; 9], String);
    let (owner, thief) = near_wrap::<Wide>();
    let wide = |i: u64| ([i; 9], i.to_string());
    (0..50).for_each(|i| owner.push(wide(i)));
    owner.share_all();
    assert!((0..25).all(|i| thief.steal() == Steal::Success(wide(i))));
    assert!((25..50).rev().all(|i| owner.pop() == Some(wide(i))));
}

/// `Owner` and `Thief` go to other threads, `Thief` is used by several at once, `Owner` by one at a time.
#[test]
fn who_may_go_where() {
    fn is_send<T: Send>() {}
    fn is_sync<T: Sync>() {}
    is_send::<Owner<Cell<u8>>>();
    is_send::<Thief<Cell<u8>>>();
    is_sync::<Thief<Cell<u8>>>();

    // Compiles only while exactly one of the two applies, that is, while `Owner` is not `Sync`.
    trait Unambiguous<A> {
        fn here() {}
    }
    impl<T: ?Sized> Unambiguous<()> for T {}
    impl<T: ?Sized + Sync> Unambiguous<Rc<()>> for T {}
    <Owner<u8> as Unambiguous<_>>::here();
}
