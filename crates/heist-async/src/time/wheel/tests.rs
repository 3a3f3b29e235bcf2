//! The wheel against a sorted map, and its corners by hand.

use super::{DIGIT, Key, LAST, Moved, Wheel};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

/// Counts its wake-ups.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Count {
    fn woken(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

struct Timer {
    count: Arc<Count>,
    key: Option<Key>,
    /// `None` once it has fired.
    when: Option<u64>,
}

/// A wheel, and what it should do.
#[derive(Default)]
struct Both {
    wheel: Option<Wheel>,
    timers: Vec<Timer>,
    /// By tick and number.
    model: BTreeMap<(u64, usize), ()>,
    now: u64,
}

impl Both {
    fn new(now: u64) -> Self {
        Self { wheel: Some(Wheel::new(now)), now, ..Self::default() }
    }

    fn wheel(&mut self) -> &mut Wheel {
        self.wheel.as_mut().unwrap()
    }

    fn insert(&mut self, when: u64) {
        let when = when.min(LAST);
        let count = Arc::new(Count::default());
        let result = self.wheel().insert(when, Waker::from(count.clone()));
        assert_eq!(result.is_err(), when <= self.now, "{when} at {}", self.now);
        if let Ok(key) = result {
            self.model.insert((when, self.timers.len()), ());
            self.timers.push(Timer { count, key: Some(key), when: Some(when) });
        }
    }

    fn remove(&mut self, which: usize) {
        let Some(timer) = self.timers.get_mut(which) else { return };
        let Some(key) = timer.key.take() else { return };
        let when = timer.when.take();
        if let Some(when) = when {
            self.model.remove(&(when, which));
        }
        assert_eq!(self.wheel().remove(key).is_some(), when.is_some());
    }

    fn reset(&mut self, which: usize, to: u64) {
        let to = to.min(LAST);
        let now = self.now;
        let Some(timer) = self.timers.get_mut(which) else { return };
        let Some(key) = &timer.key else { return };
        match (self.wheel.as_mut().unwrap().reset(key, to), timer.when) {
            (Moved::Fired, None) => {}
            (Moved::Set, Some(when)) => {
                assert!(to > now);
                timer.when = Some(to);
                self.model.remove(&(when, which));
                self.model.insert((to, which), ());
            }
            (Moved::Due(waker), Some(when)) => {
                assert!(to <= now);
                timer.when = None;
                self.model.remove(&(when, which));
                waker.wake();
            }
            (moved, when) => panic!("{moved:?} for {when:?}"),
        }
    }

    fn advance(&mut self, to: u64) {
        self.now = self.now.max(to.min(LAST));
        let now = self.now;
        let wheel = self.wheel();
        wheel.advance(now);
        while let Some(waker) = wheel.pop_due() {
            waker.wake();
        }
        for timer in &mut self.timers {
            if timer.when.is_some_and(|when| when <= now) {
                timer.when = None;
                assert_eq!(timer.count.woken(), 1, "not fired at {now}");
            }
        }
        self.model = self.model.split_off(&(now + 1, 0));
    }

    fn check(&mut self) {
        for (number, timer) in self.timers.iter().enumerate() {
            let fires = usize::from(timer.key.is_some() && timer.when.is_none());
            if timer.key.is_some() {
                assert_eq!(timer.count.woken(), fires, "timer {number}");
            }
        }
        let first = self.model.keys().next().map(|&(when, _)| when);
        let now = self.now;
        match (self.wheel().earliest(), first) {
            // A timer that was cancelled or moved may be looked for in vain, but never early enough to spin.
            (Some(earliest), Some(first)) => assert!(now < earliest && earliest <= first),
            (Some(_), None) => panic!("nothing is set"),
            (None, first) => assert_eq!(first, None),
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Insert(u64),
    Remove(usize),
    /// To so much after now.
    Reset(usize, u64),
    /// To just before now.
    ResetBack(usize),
    Advance(u64),
    /// To the tick at which the wheel wants to be looked at.
    Earliest,
}

/// Distances of every magnitude, and the borders of levels.
fn distance() -> impl Strategy<Value = u64> {
    let border = |(level, offset): (u32, u64)| ((1 << (DIGIT * level)) + offset).saturating_sub(2);
    prop_oneof![(0..50_u32).prop_flat_map(|bits| 0..=1_u64 << bits), (0..9_u32, 0..5_u64).prop_map(border),]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => distance().prop_map(Step::Insert),
        2 => (0..60_usize).prop_map(Step::Remove),
        2 => (0..60_usize, distance()).prop_map(|(which, to)| Step::Reset(which, to)),
        1 => (0..60_usize).prop_map(Step::ResetBack),
        2 => distance().prop_map(Step::Advance),
        2 => Just(Step::Earliest),
    ]
}

proptest! {
    #[test]
    fn the_wheel_does_what_a_sorted_map_does(
        start in distance(),
        steps in proptest::collection::vec(step(), 1..120),
    ) {
        let mut both = Both::new(start);
        for step in steps {
            let now = both.now;
            match step {
                Step::Insert(after) => both.insert(now.saturating_add(after)),
                Step::Remove(which) => both.remove(which),
                Step::Reset(which, after) => both.reset(which, now.saturating_add(after)),
                Step::ResetBack(which) => both.reset(which, now.saturating_sub(1)),
                Step::Advance(by) => both.advance(now.saturating_add(by)),
                Step::Earliest => {
                    if let Some(earliest) = both.wheel().earliest() {
                        both.advance(earliest);
                    }
                }
            }
            both.check();
        }
    }
}

#[test]
fn each_fires_exactly_at_its_tick() {
    // From a few starts, one timer at every border of a level.
    for start in [0_u64, 1, 63, 64, 4095, 4096, (1 << 30) - 1, 1 << 48] {
        for level in 0..9 {
            for offset in [-1_i64, 0, 1, 63, 64] {
                let Some(when) = start.checked_add_signed((1_i64 << (DIGIT * level)) + offset) else {
                    continue;
                };
                if when <= start || when > LAST {
                    continue;
                }
                let mut both = Both::new(start);
                both.insert(when);
                assert_eq!(both.wheel().earliest(), Some(when), "a lone timer is waited for exactly");
                both.advance(when - 1);
                both.check();
                assert_eq!(both.timers[0].count.woken(), 0);
                both.advance(when);
                assert_eq!(both.timers[0].count.woken(), 1);
                assert_eq!(both.wheel().earliest(), None);
            }
        }
    }
}

#[test]
fn the_order_is_that_of_the_ticks_within_a_turn() {
    let order = Arc::new(std::sync::Mutex::new(Vec::new()));
    struct Note(u64, Arc<std::sync::Mutex<Vec<u64>>>);
    impl Wake for Note {
        fn wake(self: Arc<Self>) {
            self.1.lock().unwrap().push(self.0);
        }
    }
    let mut wheel = Wheel::new(0);
    for when in [50, 3, 20, 3, 63, 1] {
        wheel.insert(when, Waker::from(Arc::new(Note(when, order.clone())))).unwrap();
    }
    wheel.advance(60);
    while let Some(waker) = wheel.pop_due() {
        waker.wake();
    }
    assert_eq!(*order.lock().unwrap(), [1, 3, 3, 20, 50]);
}

#[test]
fn places_are_used_again() {
    let mut wheel = Wheel::new(0);
    for round in 0..1000_u64 {
        let keys: Vec<_> =
            (1..=300).map(|i| wheel.insert(round + i * 7, Waker::noop().clone()).unwrap()).collect();
        wheel.advance(round);
        while wheel.pop_due().is_some() {}
        let cancelled = keys.into_iter().filter_map(|key| wheel.remove(key)).count();
        assert_eq!(cancelled, 300, "none is due yet");
    }
    assert_eq!(wheel.earliest(), None);
    assert!(wheel.slab.places() <= 512, "{} places for 300 timers", wheel.slab.places());
}

#[test]
fn an_entry_between_due_and_fired_can_be_moved_and_removed() {
    let mut wheel = Wheel::new(0);
    let count = Arc::new(Count::default());
    let keys: Vec<_> = (0..4).map(|_| wheel.insert(5, Waker::from(count.clone())).unwrap()).collect();
    wheel.advance(10);
    assert_eq!(wheel.earliest(), Some(10), "there is something to fire");
    let [first, later, gone, due] = <[Key; 4]>::try_from(keys).unwrap();
    assert!(matches!(wheel.reset(&later, 20), Moved::Set));
    assert!(wheel.remove(gone).is_some());
    assert!(matches!(wheel.reset(&due, 4), Moved::Due(_)));
    assert!(wheel.pop_due().is_some());
    assert!(wheel.pop_due().is_none());
    assert_eq!(wheel.earliest(), Some(20));
    assert!(matches!(wheel.reset(&first, 30), Moved::Fired));
    wheel.advance(20);
    assert!(wheel.pop_due().is_some());
    assert!(wheel.replace(&later, Waker::noop().clone()).is_err());
    for key in [first, later, due] {
        assert!(wheel.remove(key).is_none());
    }
}
