//! Work and span of computations whose work and span are known, by a clock that counts what the test says is work: exactly so, on any
//! number of workers, whatever is stolen.

use crate::profile_clock::{Alone, profiled, work};
use crate::rig::watchdog::watch;
use heist::prelude::*;
use heist::profile::Figures;

/// The work and span of a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Known {
    work: u64,
    span: u64,
}

const LEAF: u64 = 20_000;

impl Known {
    fn of(ns: u64) -> Self {
        Self { work: ns, span: ns }
    }

    fn then(self, next: Self) -> Self {
        Self { work: self.work + next.work, span: self.span + next.span }
    }

    fn beside(self, other: Self) -> Self {
        Self { work: self.work + other.work, span: self.span.max(other.span) }
    }
}

/// A leaf, in which the others get a chance to steal.
fn leaf(ns: u64) -> Known {
    work(ns);
    std::thread::yield_now();
    Known::of(ns)
}

fn balanced(depth: u32) -> Known {
    if depth == 0 {
        return leaf(LEAF);
    }
    let before = leaf(300);
    let (a, b) = heist::join(|| balanced(depth - 1), || balanced(depth - 1));
    before.then(a.beside(b)).then(leaf(200))
}

fn chain(length: u64) -> Known {
    if length == 0 {
        return leaf(LEAF);
    }
    let before = leaf(100);
    let (a, b) = heist::join(|| leaf(50 * length), || chain(length - 1));
    before.then(a.beside(b))
}

/// The same with an explicit `Fork`, and the long half first.
fn skewed(f: &heist::Fork<'_>, n: u64) -> Known {
    if n < 2 {
        return leaf(10_000 + n);
    }
    let (a, b) = f.join(|f| skewed(&f, n - 1), |f| skewed(&f, n - 2));
    leaf(7 * n).then(a.beside(b))
}

fn fan(width: u64) -> Known {
    let mut known = Known::of(0);
    heist::scope(|s| {
        let mut before = 0;
        for i in 0..width {
            before += leaf(10).span;
            let ns = (i % 7) * 1_000 + 5_000;
            s.spawn(move |_| {
                leaf(ns);
            });
            known = Known { work: known.work + 10 + ns, span: known.span.max(before + ns) };
        }
        let last = leaf(30);
        known = Known { work: known.work + 30, span: known.span.max(before + last.span) };
    });
    known
}

/// As many parts as items, so that nothing depends on how loops are divided.
fn nested_loops(n: u32) -> Known {
    let inner = |i: u32| {
        let before = leaf(100 * u64::from(i));
        let each = |j: u32| leaf(u64::from(1_000 + 10 * i + j));
        let all = (0..n).into_par_iter().with_max_len(1).map(each).reduce(|| Known::of(0), Known::beside);
        before.then(all)
    };
    (0..n).into_par_iter().with_max_len(1).map(inner).reduce(|| Known::of(0), Known::beside)
}

fn is_known(what: &str, workers: usize, known: Known, figures: &Figures) {
    let measured = Known { work: figures.work_ns, span: figures.span_ns };
    assert_eq!(measured, known, "{what} on {workers} workers, {} stolen", figures.stolen);
    assert_eq!(figures.burdened_ns, figures.span_ns, "nothing costs anything here");
}

fn shape(what: &str, forks: u64, run: impl Fn() -> Known + Sync) {
    let _alone = Alone::here();
    for workers in [1, 2, 4, 8] {
        let pool = heist::ThreadPoolBuilder::new().num_threads(workers).build().unwrap();
        for _ in 0..10 {
            let (known, profile) = pool.install(|| profiled(&run));
            is_known(what, workers, known, profile.figures());
            assert_eq!(profile.forks(), forks, "{what} on {workers} workers");
            assert!(workers > 1 || profile.figures().stolen == 0);
        }
    }
}

#[test]
fn a_balanced_tree() {
    let _dog = watch!();
    shape("a tree", 63, || balanced(6));
}

#[test]
fn a_chain() {
    let _dog = watch!();
    shape("a chain", 40, || chain(40));
}

#[test]
fn a_wide_fan() {
    let _dog = watch!();
    shape("a fan", 0, || fan(100));
}

#[test]
fn a_skewed_tree() {
    let _dog = watch!();
    shape("a skewed tree", 88, || heist::fork(|f| skewed(&f, 10)));
}

#[test]
fn nested_loops_of_single_items() {
    let _dog = watch!();
    shape("loops", 9 * 10 + 9, || nested_loops(10));
}

/// Each half of which waits until the other has begun, so that it must have been stolen.
#[test]
fn a_half_that_is_stolen_counts_as_if_it_were_not() {
    let _dog = watch!();
    let _alone = Alone::here();
    fn meeting(depth: u32) -> Known {
        if depth == 0 {
            return leaf(LEAF);
        }
        let barrier = std::sync::Barrier::new(2);
        let half = |ns: u64| {
            heist::blocking(|| barrier.wait());
            leaf(ns).then(meeting(depth - 1))
        };
        let (a, b) = heist::join(|| half(1_000), || half(2_000));
        a.beside(b)
    }
    let pool = heist::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
    let (known, profile) = pool.install(|| profiled(|| meeting(3)));
    assert_eq!(profile.figures().stolen, 7);
    is_known("meetings", 4, known, profile.figures());
}

/// A stolen half spawns into the scope around the fork: how far it had come is known only when the fork has been joined.
#[test]
fn jobs_of_a_scope_begin_where_they_are_spawned() {
    let _dog = watch!();
    let _alone = Alone::here();
    let pool = heist::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    for _ in 0..20 {
        let barrier = std::sync::Barrier::new(2);
        let run = || {
            work(1_000);
            heist::scope(|s| {
                work(2_000);
                let first = || {
                    heist::blocking(|| barrier.wait());
                    work(5_000);
                };
                let second = || {
                    heist::blocking(|| barrier.wait());
                    work(10_000);
                    s.spawn(|s| {
                        work(20_000);
                        s.spawn(|_| work(40_000));
                        work(3_000);
                    });
                    work(4_000);
                };
                heist::join(first, second);
                work(6_000);
            });
            work(7_000);
        };
        let ((), profile) = pool.install(|| profiled(run));
        let figures = profile.figures();
        assert_eq!(
            figures.work_ns,
            1_000 + 2_000 + 5_000 + 10_000 + 20_000 + 40_000 + 3_000 + 4_000 + 6_000 + 7_000
        );
        assert_eq!(figures.span_ns, 1_000 + 2_000 + 10_000 + 20_000 + 40_000 + 7_000);
        assert_eq!(figures.stolen, 1);
    }
}

/// What a loop of many items in few blocks comes to depends on the blocks; its bounds do not.
#[test]
fn the_blocks_of_a_loop_are_beside_each_other() {
    let _dog = watch!();
    let _alone = Alone::here();
    for workers in [1, 2, 4] {
        let pool = heist::ThreadPoolBuilder::new().num_threads(workers).build().unwrap();
        let run = || {
            work(1_000);
            (0..100_000_u64).into_par_iter().for_each(|i| {
                work(100);
                std::hint::black_box((0..i % 100).sum::<u64>());
            });
            work(2_000);
        };
        let ((), profile) = pool.install(|| profiled(run));
        let figures = profile.figures();
        assert_eq!(figures.work_ns, 3_000 + 100 * 100_000);
        assert!(figures.span_ns >= 3_000 + 100, "{figures:?}");
        // The longest block is an eighth of the loop at most.
        assert!(figures.span_ns <= 3_000 + 100 * 100_000 / 8, "{figures:?}");
    }
}

#[test]
fn calls_of_a_broadcast_are_beside_each_other() {
    let _dog = watch!();
    let _alone = Alone::here();
    let pool = heist::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let call = |c: heist::BroadcastContext<'_>| work(1_000 * (c.index() as u64 + 1));
    let ((), profile) = profiled(|| {
        work(500);
        pool.broadcast(call);
        pool.install(|| pool.scope(|s| s.spawn_broadcast(|_, c| call(c))));
    });
    let figures = profile.figures();
    assert_eq!((figures.work_ns, figures.span_ns), (500 + 6_000 + 6_000, 500 + 3_000 + 3_000));
}
