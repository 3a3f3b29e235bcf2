//! Models of sleeping in the driver for loom: a thread that goes to sleep there against those that have something for it.

use super::DriverLock;
use crate::driver::{Driver, Patience};
use heist_sync::atomic::{AtomicU32, Ordering};
use heist_sync::cell::UnsafeCell;
use heist_sync::{Condvar, Interrupt, Mutex, Parker, StdArc as Arc, lock, thread};
use loom::model::Builder;

/// A driver in which nothing ever becomes ready: only an interrupt ends a turn with patience.
struct Quiet {
    is_interrupted: Mutex<bool>,
    news: Condvar,
}

impl Interrupt for Quiet {
    fn interrupt(&self) {
        *lock(&self.is_interrupted) = true;
        self.news.notify_one();
    }
}

impl Driver for Quiet {
    fn turn(&self, patience: Patience) {
        if patience == Patience::None {
            return;
        }
        let mut is_interrupted = lock(&self.is_interrupted);
        while !*is_interrupted {
            is_interrupted = self.news.wait(is_interrupted).unwrap();
        }
        *is_interrupted = false;
    }

    fn is_used(&self, _: bool) -> bool {
        true
    }
}

fn quiet() -> Arc<DriverLock> {
    let lock = DriverLock::default();
    let driver = Quiet { is_interrupted: Mutex::new(false), news: Condvar::new() };
    let driver: Arc<dyn Driver> = Arc::new(driver);
    assert!(lock.slot().set(driver).is_ok());
    Arc::new(lock)
}

/// As `OwnTasks::park_in_driver`. False if somebody else is there.
fn park_in(driver: &DriverLock, parker: &Parker) -> bool {
    let Some(locked) = driver.try_lock(true) else { return false };
    parker.park_in(|| driver.interrupter(), || locked.turn(Patience::Forever));
    true
}

fn check(model: impl Fn(bool) + Send + Sync + Copy + 'static) {
    for sleeper_first in [true, false] {
        let mut builder = Builder::new();
        builder.preemption_bound = builder.preemption_bound.max(Some(3));
        builder.check(move || model(sleeper_first));
    }
}

fn race(sleeper_first: bool, sleeper: impl FnOnce() + Send + 'static, other: impl FnOnce() + Send + 'static) {
    let (first, second): (Box<dyn FnOnce()>, Box<dyn FnOnce() + Send>) = match sleeper_first {
        true => (Box::new(sleeper), Box::new(other)),
        false => (Box::new(other), Box::new(sleeper)),
    };
    let second = thread::spawn(second);
    first();
    second.join().unwrap();
}

/// What was given, and something beside it that only the wake-up orders.
struct Given {
    given: AtomicU32,
    news: UnsafeCell<u32>,
}

// SAFETY: loom checks every access to the cell.
unsafe impl Sync for Given {}

/// A permit is given `times` times, each time after the last one was taken.
fn permits_given(sleeper_first: bool, times: u32) {
    let (driver, parker) = (quiet(), Arc::new(Parker::new()));
    let given = Arc::new(Given { given: AtomicU32::new(0), news: UnsafeCell::new(0) });
    let taken = Arc::new(Parker::new());
    let sleeper = {
        let (parker, given, taken) = (parker.clone(), given.clone(), taken.clone());
        move || {
            for n in 1..=times {
                // A token that is left from the last time costs a turn of this loop, and no more.
                while given.given.load(Ordering::Acquire) != n {
                    assert!(park_in(&driver, &parker), "nobody else sits there");
                }
                // SAFETY: loom checks it.
                assert_eq!(given.news.with(|p| unsafe { *p }), n);
                taken.unpark();
            }
        }
    };
    let giver = move || {
        for n in 1..=times {
            // SAFETY: loom checks it.
            given.news.with_mut(|p| unsafe { *p = n });
            given.given.store(n, Ordering::Release);
            parker.unpark();
            taken.park();
        }
    };
    race(sleeper_first, sleeper, giver);
}

/// Bugs hunted: the sleeper looks for a token before it says that it sleeps elsewhere (`parker_looks_before_it_goes_elsewhere`),
/// or the giver leaves a token and interrupts nobody (`parker_unpark_forgets_elsewhere`), and the sleeper stays in the driver
/// beside what it was given.
#[test]
fn a_permit_against_sleeping_in_the_driver() {
    check(|first| permits_given(first, 1));
}

/// Bug hunted: an interrupt that ended a wait too late ends the next one too early, and a thread takes that for news.
#[test]
fn two_permits_against_sleeping_in_the_driver() {
    check(|first| permits_given(first, 2));
}

/// Two threads look at the driver, one of them in passing.
///
/// Bug hunted: turns that overlap, and a thread that is turned away although it comes after the other's turn.
#[test]
fn turns_do_not_overlap() {
    check(|first| {
        let (driver, inside) = (quiet(), Arc::new(Cell(UnsafeCell::new(0))));
        let turn = |driver: &DriverLock, inside: &Cell| {
            let Some(locked) = driver.try_lock(false) else { return false };
            // SAFETY: loom checks it.
            inside.0.with_mut(|p| unsafe { *p += 1 });
            locked.turn(Patience::None);
            true
        };
        let (theirs, beside) = (driver.clone(), inside.clone());
        let turns = Arc::new(std::sync::atomic::AtomicU32::new(0));
        let counted = turns.clone();
        let count = move |had: bool| {
            counted.fetch_add(u32::from(had), std::sync::atomic::Ordering::Relaxed);
        };
        let (a, b) = (count.clone(), count);
        let (passing_driver, passing_inside) = (driver.clone(), inside.clone());
        race(first, move || a(turn(&theirs, &beside)), move || b(turn(&passing_driver, &passing_inside)));
        let turns = turns.load(std::sync::atomic::Ordering::Relaxed);
        assert!(turn(&driver, &inside), "the lock is free again");
        // SAFETY: loom checks it.
        let sum = inside.0.with(|p| unsafe { *p });
        assert!(turns >= 1 && sum == turns + 1, "{turns} turns, then one, counted as {sum}");
    });
}

struct Cell(UnsafeCell<u32>);

// SAFETY: loom checks every access.
unsafe impl Sync for Cell {}
