//! The edges: capacity, index space, requests, forced exposure after many attempts.

use crate::word::{CAPACITY_MAX, DISTANCE_MAX};
use crate::{Options, Owner, Steal, Thief, deque_with, deque_with_capacity};

fn near_wrap<T: Send>(capacity: usize) -> (Owner<T>, Thief<T>) {
    deque_with(Options { capacity, start: (1 << 12) - 3, ..Options::default() })
}

#[test]
fn a_full_deque_refuses_one_more_and_keeps_the_others() {
    let (owner, thief) = near_wrap(2);
    (0..CAPACITY_MAX).for_each(|i| owner.push(i));
    let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| owner.push(CAPACITY_MAX)));
    assert!(refused.unwrap_err().downcast_ref::<String>().unwrap().contains(&CAPACITY_MAX.to_string()));
    assert_eq!(owner.len(), CAPACITY_MAX);
    owner.share_all();
    assert_eq!(thief.steal(), Steal::Success(0));
    owner.push(CAPACITY_MAX);
    assert_eq!(owner.pop(), Some(CAPACITY_MAX));
    assert!((1..CAPACITY_MAX).rev().all(|i| owner.pop() == Some(i)));
    assert_eq!(owner.pop(), None);
}

#[test]
#[should_panic(expected = "at most")]
fn a_capacity_beyond_the_largest_is_refused() {
    let _ = deque_with_capacity::<u8>(CAPACITY_MAX + 1);
}

#[test]
fn the_ring_grows_only_for_what_it_holds() {
    let (owner, thief) = near_wrap(4);
    // Many times round the index space with at most four items: a slot whose thief has finished is reused.
    for i in 0..4 * DISTANCE_MAX {
        owner.push(i);
        owner.share_all();
        assert_eq!(thief.steal(), Steal::Success(i));
    }
    assert_eq!(owner.capacity(), 4);
    (0..5).for_each(|i| owner.push(i));
    assert_eq!(owner.capacity(), 8);
}

#[test]
fn indices_go_round_after_growth_too() {
    let (owner, thief) = near_wrap(2);
    (0..3).for_each(|i| owner.push(i));
    for i in 3..4 * DISTANCE_MAX {
        owner.push(i);
        owner.share_all();
        assert_eq!(thief.steal(), Steal::Success(i - 3));
    }
    assert_eq!(owner.capacity(), 4);
}

#[test]
fn a_pop_on_empty_changes_nothing() {
    for fenced in [false, true] {
        let (owner, thief) = deque_with::<u8>(Options { fenced, ..Options::default() });
        let here = owner.position();
        for _ in 0..1_000 {
            assert_eq!(owner.pop(), None);
            assert!(thief.steal().is_empty());
        }
        assert_eq!(owner.position(), here);
        owner.push(1);
        assert_eq!(owner.pop(), Some(1));
    }
}

#[test]
fn a_request_is_answered_by_the_next_push_with_half() {
    let (owner, thief) = near_wrap(16);
    (0..9).for_each(|i| owner.push(i));
    assert!(thief.steal().is_retry());
    owner.push(9);
    assert!(!owner.is_asked());
    assert!((0..5).all(|i| thief.steal() == Steal::Success(i)));
    assert!(thief.steal().is_retry());
    // The pop takes the newest and shares half of the four others.
    assert_eq!(owner.pop(), Some(9));
    assert!((5..7).all(|i| thief.steal() == Steal::Success(i)));
    assert!(thief.steal().is_retry());
}

#[test]
fn a_request_to_an_empty_owner_stays_until_there_is_something() {
    let (owner, thief) = near_wrap(4);
    thief.ask();
    assert_eq!(owner.pop(), None);
    assert!(owner.is_asked());
    owner.push(1);
    assert!(!owner.is_asked());
    assert_eq!(thief.steal(), Steal::Success(1));
}

#[test]
fn an_owner_that_never_answers_is_forced_after_a_thousand_attempts() {
    for fenced in [false, true] {
        let (owner, thief) = deque_with(Options { fenced, ..Options::default() });
        (0..3).for_each(|i| owner.push(i));
        let attempts = (1..).find(|_| thief.steal() == Steal::Success(0)).unwrap();
        assert_eq!(attempts, 1_000);
        // All of it is open now.
        assert_eq!(thief.steal(), Steal::Success(1));
        assert_eq!(owner.pop(), Some(2));
        assert_eq!(owner.pop(), None);
    }
}

#[test]
fn another_thief_does_not_force_while_one_is_at_it_but_can_still_ask() {
    let (owner, thief) = near_wrap(4);
    owner.push(1);
    let thieves = &*thief.shared().thieves;
    let w = thieves.word(heist_sync::atomic::Ordering::Relaxed);
    assert!(thieves.try_set(w, w.begin_force().unwrap(), heist_sync::atomic::Ordering::Relaxed));
    assert!(!thief.force());
    assert!(thief.steal().is_retry());
    owner.push(2);
    assert_eq!(thief.steal(), Steal::Success(1));
    // The owner cancelled the force that never went on.
    assert!(!thieves.word(heist_sync::atomic::Ordering::Relaxed).is_forcing());
}

#[test]
fn half_is_rounded_up_and_bounded() {
    let (owner, thief) = near_wrap(2);
    let (mine, _) = near_wrap(2);
    for (len, moved) in [(1, 0), (2, 0), (3, 1), (4, 1), (5, 2), (200, 63)] {
        (0..len).for_each(|i| owner.push(i));
        owner.share_all();
        assert_eq!(thief.steal_half(&mine), Steal::Success(0));
        assert_eq!(mine.len(), moved, "of {len}");
        assert!((1..=moved).rev().all(|i| mine.pop() == Some(i)));
        while owner.pop().is_some() {}
    }
}

/// A thief that is stopped for good between its claim and its read (tokio #5041: the index goes round meanwhile).
struct Stopped<'a, T: Send> {
    ring: &'a crate::buffer::Buffer<T>,
    index: u32,
}

fn stop_after_claim<T: Send>(thief: &Thief<T>) -> Stopped<'_, T> {
    use heist_sync::atomic::Ordering;
    let thieves = &*thief.shared().thieves;
    let w = thieves.word(Ordering::Relaxed);
    assert!(thieves.try_set(w, w.claim(1), Ordering::Acquire));
    // SAFETY: rings live as long as the deque, which `thief` keeps alive.
    Stopped { ring: unsafe { &*thieves.ring.load(Ordering::Acquire) }, index: w.tail() }
}

impl<T: Send> Stopped<'_, T> {
    fn go_on(self) -> T {
        let slot = self.ring.slot(u64::from(self.index));
        // SAFETY: claimed in `stop_after_claim` and not taken since.
        let item = unsafe { slot.read() };
        slot.finish(self.index);
        item
    }
}

#[test]
fn a_stopped_thief_finds_its_item_after_the_ring_went_round_and_grew() {
    let (owner, thief) = near_wrap(4);
    (0..3).for_each(|i| owner.push(i));
    owner.share_all();
    let stopped = stop_after_claim(&thief);
    for i in 3..500 {
        owner.push(i);
        owner.share_all();
        assert_eq!(thief.steal(), Steal::Success(i - 2));
    }
    assert_eq!(owner.capacity(), 8, "it grew once, and no more: the slot that is in use is in the old ring");
    assert_eq!(stopped.go_on(), 0);
}

#[test]
fn the_owner_waits_for_a_thief_that_stopped_half_the_index_space_ago() {
    use heist_sync::atomic::{AtomicBool, Ordering};
    let (owner, thief) = near_wrap(4);
    let first = owner.position();
    (0..3).for_each(|i| owner.push(i));
    owner.share_all();
    let stopped = stop_after_claim(&thief);
    let mut next = 3;
    while owner.position() < first + DISTANCE_MAX - 1 {
        owner.push(next);
        owner.share_all();
        assert_eq!(thief.steal(), Steal::Success(next - 2));
        next += 1;
    }
    assert_eq!(
        owner.room.get(),
        owner.position(),
        "there are free slots, but no index that could be told apart"
    );
    let went_on = AtomicBool::new(false);
    std::thread::scope(|s| {
        let (owner, went_on) = (owner, &went_on);
        let pusher = s.spawn(move || {
            owner.push(next);
            assert!(went_on.load(Ordering::Acquire), "the index would be taken for one of the old ring");
            owner
        });
        went_on.store(true, Ordering::Release);
        assert_eq!(stopped.go_on(), 0);
        let owner = pusher.join().unwrap();
        assert_eq!(owner.pop(), Some(next));
    });
}
