//! A thread that waits for ticks against those that queue an earlier one.

use super::{check, enrol, give_up, look, pool, reach_bottom, sleep, work};
use crate::driver::{Driver, Patience};
use crate::pool::Pool;
use crate::queues::ticks::{NEVER, Taken, Tick, When};
use crate::worker::Worker;
use crate::worker::park::Slept;
use heist_sync::std_atomic::{AtomicUsize, Ordering};
use heist_sync::{Interrupt, Parker, StdArc as Arc, thread};

/// A driver in which time never passes: a wait lasts until it is interrupted.
#[derive(Default)]
struct Still(Parker);

impl Interrupt for Still {
    fn interrupt(&self) {
        self.0.unpark();
    }
}

impl Driver for Still {
    fn turn(&self, patience: Patience) {
        if patience != Patience::None {
            self.0.park();
        }
    }

    fn is_used(&self, _: bool) -> bool {
        false
    }
}

/// Counts its runs, and is not queued again.
#[derive(Default)]
struct Once(AtomicUsize);

impl Once {
    fn runs(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    fn queue(self: &Arc<Self>, pool: &Pool, due_ns: u64) {
        pool.driver().add_tick();
        let when = When { due_ns, stealable_ns: NEVER - 1, near: None };
        let _ = pool.queues().ticks().push(0, when, 0, self.clone());
        pool.driver_waiter().hasten(0, false);
    }
}

impl Tick for Once {
    fn run(self: Arc<Self>, taken: &Taken<'_>) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed);
        taken.pool.driver().remove_tick();
        0
    }

    fn close(self: Arc<Self>) {}

    fn watchdog_ns(&self) -> u64 {
        NEVER
    }

    fn is_overdue(&self, _: u64) -> bool {
        false
    }

    fn report(self: Arc<Self>) {}
}

/// As the loop does, until the tick has run.
fn serve(worker: &Worker, tick: &Once) {
    while tick.runs() == 0 {
        reach_bottom(worker);
        match look(worker) {
            Some(found) => worker.run_found(found),
            None => assert_ne!(sleep(worker), Slept::Leave, "nobody closes the pool"),
        }
    }
    give_up(worker);
}

/// Both at once, on two threads; loom counts which of them is its first one.
fn race(
    sleeper_first: bool,
    sleeper: impl FnOnce() + Send + 'static,
    outside: impl FnOnce() + Send + 'static,
) {
    if sleeper_first {
        let other = thread::spawn(outside);
        sleeper();
        other.join().unwrap();
    } else {
        let other = thread::spawn(sleeper);
        outside();
        other.join().unwrap();
    }
}

fn queue_against_a_sleeper(sleeper_first: bool, has_far_one: bool) {
    let pool = pool(1);
    assert!(pool.driver().slot().set(Arc::new(Still::default())).is_ok());
    let (far, tick) = (Arc::new(Once::default()), Arc::new(Once::default()));
    if has_far_one {
        far.queue(&pool, NEVER - 1);
    }
    let sleeper = {
        let (pool, tick) = (pool.clone(), tick.clone());
        move || work(&pool, 0, |worker| serve(worker, &tick))
    };
    let outside = {
        let (pool, tick) = (pool.clone(), tick.clone());
        move || tick.queue(&pool, 0)
    };
    race(sleeper_first, sleeper, outside);
    assert_eq!((tick.runs(), far.runs()), (1, 0));
}

/// Bug hunted: whoever queues a tick takes the time for which the thread has waited before for the one for which it waits now, and the
/// thread does not see the tick (TICK-E1, `tick_hasten_unfenced`).
#[test]
fn an_earlier_tick_against_the_announcement_of_a_wait() {
    const DUE_NS: u64 = 5;
    check(3, |sleeper_first| {
        let pool = pool(1);
        Arc::new(Once::default()).queue(&pool, NEVER - 1);
        let sleeper = {
            let pool = pool.clone();
            move || {
                enrol(&pool, |worker| {
                    let (id, parker) = (worker.shared().id(), worker.shared().parker());
                    let lock = || pool.driver().try_lock(true).expect("nobody else waits");
                    let _ = lock().wait_for_ticks(id, || DUE_NS - 1);
                    loop {
                        let driver = lock();
                        if driver.wait_for_ticks(id, || pool.due().next_rise_ns()) == DUE_NS {
                            return;
                        }
                        parker.park();
                    }
                });
            }
        };
        race(sleeper_first, sleeper, move || Arc::new(Once::default()).queue(&pool, DUE_NS));
    });
}

/// Bug hunted: the same by the whole of a worker, as far as one change of threads shows it.
#[test]
fn an_earlier_tick_against_a_thread_that_waits_for_a_late_one() {
    check(1, |first| queue_against_a_sleeper(first, true));
}

/// Bug hunted: the first tick of a pool is queued while its only thread goes to sleep, and nobody waits for it.
#[test]
fn the_first_tick_against_a_thread_that_falls_asleep() {
    check(1, |first| queue_against_a_sleeper(first, false));
}
