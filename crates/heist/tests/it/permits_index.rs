//! A kept index is the job's own: it is the same before and after every kind of wait, it is never none in the middle of a job, and
//! no two running jobs have it at once.
//!
//! rayon programs ask once, keep the number, and use unsynchronised scratch space by it.

use crate::rig::compute::compute;
use crate::rig::fenced;
use crate::rig::gate::Gate;
use crate::rig::ledger::Ledger;
use crate::rig::pool::pool;
use crate::rig::watchdog::watch;
use heist::{ThreadPool, current_thread_index};
use heist_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::cell::UnsafeCell;
use std::time::Duration;

const SIZES: [usize; 4] = [1, 2, 4, 16];

/// Scratch space per index that notices a second user.
struct Scratch {
    in_use: Vec<AtomicBool>,
    cells: Vec<UnsafeCell<usize>>,
}

// SAFETY: a cell is touched only by whoever has the index, which is what is tested; the flag beside it tells if not.
unsafe impl Sync for Scratch {}

impl Scratch {
    fn new(n: usize) -> Self {
        Self {
            in_use: (0..n).map(|_| AtomicBool::new(false)).collect(),
            cells: (0..n).map(|_| UnsafeCell::new(0)).collect(),
        }
    }

    /// Works in the space of `index`, which was asked for some time ago.
    fn work(&self, index: usize, for_us: u64) {
        // ORDERING: relaxed, so that the flag itself does not make the cell's use safe.
        assert!(!self.in_use[index].swap(true, Ordering::Relaxed), "two running jobs have index {index}");
        // SAFETY: see above.
        unsafe { *self.cells[index].get() += 1 };
        compute(for_us);
        self.in_use[index].store(false, Ordering::Relaxed);
    }

    fn total(&mut self) -> usize {
        self.cells.iter_mut().map(|cell| *cell.get_mut()).sum()
    }
}

fn ask() -> usize {
    current_thread_index().expect("a job has an index")
}

/// How a job waits, and what runs meanwhile.
#[derive(Clone, Copy, Debug)]
enum Wait {
    Join,
    Scope,
    Fork,
    Install,
    InstallAndBack,
    Blocking,
    BlockOn,
}

const WAITS: [Wait; 7] =
    [Wait::Join, Wait::Scope, Wait::Fork, Wait::Install, Wait::InstallAndBack, Wait::Blocking, Wait::BlockOn];

struct Pools {
    pool: ThreadPool,
    other: ThreadPool,
    scratch: Scratch,
    others_scratch: Scratch,
}

impl Pools {
    fn new(n: usize) -> Self {
        Self { pool: pool(n), other: pool(2), scratch: Scratch::new(n), others_scratch: Scratch::new(2) }
    }

    /// A leaf that asks for itself. Some are long enough for their waiter to lend, and some sleep, which is not computing but
    /// takes nobody's index away.
    fn leaf(&self, n: usize) {
        self.scratch.work(ask(), 3);
        match n % 12 {
            0 => compute(300),
            6 => std::thread::sleep(Duration::from_millis(2)),
            _ => {}
        }
        self.scratch.work(ask(), 3);
    }

    fn wait(&self, wait: Wait, n: usize) {
        match wait {
            Wait::Join => _ = heist::join(|| self.leaf(n), || self.leaf(n + 1)),
            Wait::Fork => _ = heist::fork(|f| f.join(|_| self.leaf(n), |_| self.leaf(n + 1))),
            Wait::Scope => heist::scope(|s| {
                s.spawn(|_| self.leaf(n));
                s.spawn(|_| self.leaf(n + 1));
            }),
            Wait::Install => self.other.install(|| {
                self.others_scratch.work(ask(), 5);
                compute(if n.is_multiple_of(5) { 300 } else { 1 });
            }),
            Wait::InstallAndBack => self.other.install(|| {
                let index = ask();
                self.others_scratch.work(index, 5);
                self.pool.install(|| self.leaf(n));
                assert_eq!(current_thread_index(), Some(index), "in the other pool");
                self.others_scratch.work(index, 5);
            }),
            Wait::Blocking => heist::blocking(|| {
                assert_eq!(current_thread_index(), None, "inside of blocking");
                std::thread::sleep(Duration::from_micros(50 * (n % 8) as u64));
                assert_eq!(current_thread_index(), None, "inside of blocking");
            }),
            Wait::BlockOn => heist::block_on(heist::time::sleep(Duration::from_millis(1))),
        }
    }

    /// How often [`wait`](Self::wait) works in the scratch space of the first pool.
    fn leaves(wait: Wait) -> usize {
        match wait {
            Wait::Join | Wait::Scope | Wait::Fork => 2,
            Wait::InstallAndBack => 1,
            Wait::Install | Wait::Blocking | Wait::BlockOn => 0,
        }
    }
}

/// Jobs that ask once at their start, wait in every way, and use what they were told throughout.
fn keep_over(waits: &[Wait], jobs: usize) {
    for n in SIZES {
        let mut pools = Pools::new(n);
        let ledger = Ledger::new(jobs);
        let all = &pools;
        let ledger = &ledger;
        all.pool.scope(|s| {
            for i in 0..jobs {
                s.spawn(move |_| {
                    let index = ask();
                    assert!(index < n, "index {index} of {n}");
                    for (step, &wait) in waits.iter().enumerate() {
                        all.scratch.work(index, 3);
                        all.wait(wait, i + step);
                        assert_eq!(current_thread_index(), Some(index), "{n} workers, after {wait:?}");
                        all.scratch.work(index, 3);
                    }
                    ledger.mark(i);
                });
            }
        });
        ledger.check_all_once("jobs");
        let leaves: usize = waits.iter().map(|&wait| Pools::leaves(wait)).sum();
        assert_eq!(pools.scratch.total(), jobs * 2 * (waits.len() + leaves), "{n} workers");
        assert_eq!(current_thread_index(), None, "outside of every pool");
    }
}

#[test]
fn over_joins_and_scopes() {
    let _watch = watch!();
    keep_over(&[Wait::Join, Wait::Scope, Wait::Fork, Wait::Join], 60);
}

#[test]
fn over_installs_into_another_pool_and_back() {
    let _watch = watch!();
    keep_over(&[Wait::Install, Wait::InstallAndBack, Wait::Install], 40);
}

#[test]
fn over_announced_blocking() {
    let _watch = watch!();
    keep_over(&[Wait::Blocking, Wait::BlockOn, Wait::Blocking], 40);
}

#[test]
fn over_every_wait_in_turn() {
    let _watch = watch!();
    keep_over(&WAITS, 25);
}

/// Who asks only after a wait gets an index as well, and keeps it from then on.
#[test]
fn asked_for_after_a_wait() {
    let _watch = watch!();
    for n in SIZES {
        let pools = Pools::new(n);
        let asked = AtomicUsize::new(0);
        pools.pool.scope(|s| {
            for i in 0..40 {
                let (pools, asked) = (&pools, &asked);
                s.spawn(move |_| {
                    pools.wait(WAITS[i % WAITS.len()], i);
                    let index = ask();
                    pools.scratch.work(index, 20);
                    pools.wait(WAITS[(i / 3) % WAITS.len()], i);
                    assert_eq!(current_thread_index(), Some(index), "{n} workers");
                    pools.scratch.work(index, 20);
                    asked.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
        assert_eq!(asked.into_inner(), 40);
    }
}

/// The borrower sleeps for long, or computes for long, and has asked: its lender waits for its end, and does not go on without.
#[test]
fn a_borrower_that_has_asked_is_waited_for() {
    let _watch = watch!();
    for sleeps in [true, false] {
        let pool = pool(1);
        let (lent, borrowed) = (Gate::new(), Gate::new());
        let in_use = AtomicBool::new(false);
        pool.in_place_scope(|s| {
            s.spawn(|_| {
                let index = ask();
                heist::blocking(|| {
                    lent.open();
                    borrowed.block();
                });
                assert!(!in_use.load(Ordering::Acquire), "two running jobs have index {index}");
                assert_eq!(current_thread_index(), Some(index));
            });
            lent.block();
            s.spawn(|_| {
                assert_eq!(current_thread_index(), Some(0));
                in_use.store(true, Ordering::Release);
                borrowed.open();
                // Not a wait for a condition: the lender must not go on in this time.
                if sleeps {
                    std::thread::sleep(Duration::from_millis(200))
                } else {
                    compute(200_000)
                }
                assert_eq!(current_thread_index(), Some(0), "the borrower keeps it to its end");
                in_use.store(false, Ordering::Release);
            });
        });
    }
}

/// The borrower has not asked: it loses the permit to the lender at once, goes on without, and gets its answer when the lender has
/// ended.
fn taken_back_from_a_borrower(sleeps: bool) {
    let pool = pool(1);
    let (lent, borrowed, back) = (Gate::new(), Gate::new(), Gate::new());
    let is_back = AtomicBool::new(false);
    let lender_runs = AtomicBool::new(true);
    pool.in_place_scope(|s| {
        s.spawn(|_| {
            let index = current_thread_index();
            heist::blocking(|| {
                lent.open();
                borrowed.block();
            });
            // While the borrower is in the middle of its job, which ends only after this.
            let again = current_thread_index();
            is_back.store(true, Ordering::Release);
            back.open();
            compute(20_000);
            assert_eq!((index, again, current_thread_index()), (Some(0), Some(0), Some(0)));
            lender_runs.store(false, Ordering::Release);
        });
        lent.block();
        s.spawn(|_| {
            borrowed.open();
            if sleeps {
                back.block();
            } else {
                while !is_back.load(Ordering::Acquire) {
                    std::hint::spin_loop();
                }
            }
            // Forks go on without a permit.
            assert_eq!(heist::join(|| 1, || 2), (1, 2));
            assert_eq!(current_thread_index(), Some(0), "it waits for the permit");
            assert!(!lender_runs.load(Ordering::Acquire), "two running jobs have index 0");
        });
    });
}

#[test]
fn a_borrower_that_sleeps_and_has_not_asked_is_not_waited_for() {
    let _watch = watch!();
    taken_back_from_a_borrower(true);
}

#[test]
fn a_borrower_that_computes_and_has_not_asked_is_not_waited_for() {
    let _watch = watch!();
    taken_back_from_a_borrower(false);
}

#[test]
fn in_fenced_mode() {
    let _watch = watch!();
    fenced::rerun_fenced(module_path!(), &["over_every_wait", "a_borrower"]);
}
