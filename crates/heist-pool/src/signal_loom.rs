//! Models of the signal for loom: its waiter frees it as soon as it is over.

use super::{Awaited, Signal, UNSET};
use heist_sync::atomic::Ordering;
use heist_sync::cell::UnsafeCell;
use heist_sync::{Parker, StdArc as Arc, thread};
use loom::model::Builder;

/// A place on the waiter's stack, and what the setter leaves there.
struct Place {
    signal: std::cell::UnsafeCell<Signal>,
    result: UnsafeCell<u32>,
}

// SAFETY: loom checks the result; the signal is atomic, and its end is what the model is about.
unsafe impl Sync for Place {}

impl Place {
    fn new(parker: Arc<Parker>) -> Self {
        Self { signal: std::cell::UnsafeCell::new(Signal::new(parker)), result: UnsafeCell::new(0) }
    }
}

/// `in_pool`: the waiter is a thread of a pool.
fn set_against_wait(setter_first: bool, in_pool: bool) {
    let parker = Arc::new(Parker::new());
    let place = Arc::new(Place::new(parker.clone()));
    let set = {
        let place = place.clone();
        move || {
            // SAFETY: loom checks it.
            place.result.with_mut(|p| unsafe { *p = 7 });
            // SAFETY: the waiter has not seen it set.
            unsafe { Signal::set(place.signal.get()) };
        }
    };
    let wait = move || {
        {
            // SAFETY: nobody else has it to change.
            let signal = unsafe { &*place.signal.get() };
            if in_pool {
                // As `Worker::wait` and `sleep_until`: the wait can be over between the announcement and the sleep.
                if !signal.is_over() && signal.announce_wait() {
                    while !signal.is_over() {
                        parker.park();
                    }
                }
            } else {
                // As `wait_outside`.
                while signal.announce_wait() {
                    parker.park();
                }
            }
            assert!(signal.is_over());
        }
        // SAFETY: loom checks it: the result has arrived.
        assert_eq!(place.result.with(|p| unsafe { *p }), 7);
        // The memory is somebody else's now: another signal, on another parker. A setter that is late would touch those.
        let other = Arc::new(Parker::new());
        // SAFETY: the signal is over, so its setter does not touch it any more.
        drop(unsafe { std::ptr::replace(place.signal.get(), Signal::new(other.clone())) });
        (place, other)
    };
    let (place, other) = if setter_first {
        let waiter = thread::spawn(wait);
        set();
        waiter.join().unwrap()
    } else {
        let setter = thread::spawn(set);
        let result = wait();
        setter.join().unwrap();
        result
    };
    assert!(!other.try_take(), "the setter has unparked whoever came after the signal's end");
    // SAFETY: both threads have been joined.
    let state = unsafe { &(*place.signal.get()).state };
    assert_eq!(state.load(Ordering::Relaxed), UNSET, "the setter has written after the signal's end");
}

/// Bugs hunted: a wake-up that is lost, a result that has not arrived, an access after the end (`signal_late_parker`).
#[test]
fn set_against_wait_and_free() {
    for setter_first in [true, false] {
        for in_pool in [true, false] {
            let mut builder = Builder::new();
            builder.preemption_bound = builder.preemption_bound.max(Some(3));
            builder.check(move || set_against_wait(setter_first, in_pool));
        }
    }
}
