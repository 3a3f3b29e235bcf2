//! The thief of a half calls `yield_now` inside of it and so runs a stranger. What the stranger forks lies on the thief's deque, above
//! the half's own forks; the half's waiter, who takes back from his thief, must not take that.
//!
//! `yield_now` is explicit for the thread that calls it, and for nobody else: the waiter may hold a lock or have a thread-local
//! borrowed.

use crate::rig::compute::compute;
use crate::rig::fenced;
use crate::rig::pool::pool;
use crate::rig::watchdog::watch;
use heist::ThreadPool;
use heist_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex};

thread_local! {
    static WAITS: Cell<bool> = const { Cell::new(false) };
    static SCRATCH: RefCell<()> = const { RefCell::new(()) };
}

/// How the half is waited for.
#[derive(Clone, Copy, Debug)]
enum Waits {
    Join,
    Scope,
    /// The half has forked before, and yields inside of a half of its own.
    Deeper,
}

/// What the stranger's forks saw.
#[derive(Default)]
struct Seen {
    begun: AtomicBool,
    forks: AtomicUsize,
    /// Forks that ran on the thread that waited.
    strangers: AtomicUsize,
}

const FORKS: usize = 12;

/// Forks while somebody waits for the half under it.
fn stranger(seen: &Seen) {
    seen.begun.store(true, Ordering::Release);
    fn forks(seen: &Seen, left: usize) {
        if left == 0 {
            return;
        }
        let look = || {
            // SCRATCH is borrowed on the waiting thread, and on no other.
            let borrowed = SCRATCH.with(|scratch| scratch.try_borrow_mut().is_err());
            seen.strangers.fetch_add(usize::from(WAITS.get() || borrowed), Ordering::Relaxed);
            seen.forks.fetch_add(1, Ordering::Relaxed);
        };
        // Long enough for whoever looks for work to come and take the other half, or the ones under it.
        heist::join(
            || {
                compute(60);
                forks(seen, left - 1);
                compute(20);
            },
            look,
        );
    }
    forks(seen, FORKS);
}

fn until(flag: &AtomicBool) {
    while !flag.load(Ordering::Acquire) {
        std::thread::yield_now();
    }
}

fn meet(pool: &ThreadPool, waits: Waits) {
    let seen = Arc::new(Seen::default());
    let lock = Mutex::new(());
    let stolen = AtomicBool::new(false);
    let queue_stranger = || {
        let seen = Arc::clone(&seen);
        // From outside: nobody's deque but the injector.
        std::thread::scope(|outside| {
            outside.spawn(|| pool.spawn(move || stranger(&seen)));
        });
    };
    // The one that waits goes on with its own half until the stranger has begun: it is on the thief's stack for certain.
    let own = || {
        until(&stolen);
        queue_stranger();
        until(&seen.begun);
    };
    let yields = || {
        while !seen.begun.load(Ordering::Acquire) {
            heist::yield_now();
        }
    };
    let half = || {
        stolen.store(true, Ordering::Release);
        match waits {
            Waits::Join | Waits::Scope => yields(),
            Waits::Deeper => _ = heist::join(|| heist::join(yields, || compute(30)), || compute(30)),
        }
        // A descendant after the stranger: this one may be taken back.
        heist::join(|| compute(30), || compute(30));
    };
    pool.install(|| {
        let _held = lock.lock().unwrap();
        SCRATCH.with(|scratch| {
            let _borrowed = scratch.borrow_mut();
            match waits {
                Waits::Join | Waits::Deeper => {
                    heist::join(
                        || {
                            own();
                            WAITS.set(true);
                        },
                        half,
                    );
                }
                Waits::Scope => heist::scope(|s| {
                    s.spawn(|_| half());
                    own();
                    WAITS.set(true);
                }),
            }
            WAITS.set(false);
        });
    });
    assert_eq!(seen.forks.load(Ordering::Relaxed), FORKS);
    assert_eq!(seen.strangers.load(Ordering::Relaxed), 0, "{waits:?}: a waiter has run a stranger's forks");
}

fn meet_often(n: usize, waits: Waits) {
    let pool = pool(n);
    (0..60).for_each(|_| meet(&pool, waits));
}

/// Two workers: the waiter and its thief, so that only the thief can run the stranger.
#[test]
fn a_join_waits() {
    let _watch = watch!();
    meet_often(2, Waits::Join);
}

#[test]
fn a_scope_waits() {
    let _watch = watch!();
    meet_often(2, Waits::Scope);
}

#[test]
fn a_thief_yields_deeper_down() {
    let _watch = watch!();
    meet_often(2, Waits::Deeper);
}

#[test]
fn in_fenced_mode() {
    let _watch = watch!();
    fenced::rerun_fenced(module_path!(), &["a_join_waits", "a_scope_waits", "a_thief_yields"]);
}
