//! Every door into the pool inside of every other, three deep: the sum that comes out is the product of how often each door
//! runs what is in it.
//!
//! Public bugs of this kind: oneTBB #1281 and #1309 (arenas nested in an order that nobody had tried), rayon #929 (a wait in one
//! pool that ends in another).

use crate::rig::fenced;
use crate::rig::pool::pool;
use crate::rig::watchdog::watch;
use heist::ThreadPool;
use heist_sync::atomic::{AtomicUsize, Ordering};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

#[derive(Clone, Copy, Debug)]
enum Door {
    Join,
    JoinContext,
    Scope,
    ScopeFifo,
    InPlaceScope,
    InPlaceScopeFifo,
    Fork,
    ForkTwice,
    Install,
    InstallHere,
    Broadcast,
    SpawnBroadcast,
    Blocking,
    Caught,
    Yield,
}

use Door::*;

const ALL: [Door; 15] = [
    Join,
    JoinContext,
    Scope,
    ScopeFifo,
    InPlaceScope,
    InPlaceScopeFifo,
    Fork,
    ForkTwice,
    Install,
    InstallHere,
    Broadcast,
    SpawnBroadcast,
    Blocking,
    Caught,
    Yield,
];

/// Two pools; `Install` goes from either to the other.
struct World {
    pools: [ThreadPool; 2],
}

type Inside<'a> = &'a (dyn Fn(usize) -> usize + Sync);

impl World {
    fn new(a: usize, b: usize) -> Self {
        Self { pools: [pool(a), pool(b)] }
    }

    /// Goes through `door` from pool `here` and sums what `inside` returns; it is told the pool that it runs in.
    fn enter(&self, door: Door, here: usize, inside: Inside<'_>) -> usize {
        let sum = AtomicUsize::new(0);
        let add = || {
            sum.fetch_add(inside(here), Ordering::Relaxed);
        };
        match door {
            Join => {
                let (a, b) = heist::join(|| inside(here), || inside(here));
                return a + b;
            }
            JoinContext => {
                let (a, b) = heist::join_context(|_| inside(here), |_| inside(here));
                return a + b;
            }
            Scope => heist::scope(|s| {
                s.spawn(|s| s.spawn(|_| add()));
                s.spawn(|_| add());
                add();
            }),
            ScopeFifo => heist::scope_fifo(|s| {
                s.spawn_fifo(|s| s.spawn_fifo(|_| add()));
                s.spawn_fifo(|_| add());
                add();
            }),
            InPlaceScope => heist::in_place_scope(|s| {
                s.spawn(|_| add());
                add();
            }),
            InPlaceScopeFifo => heist::in_place_scope_fifo(|s| {
                s.spawn_fifo(|_| add());
                add();
            }),
            Fork => return heist::fork(|_| inside(here)),
            ForkTwice => {
                let (a, (b, c)) =
                    heist::fork(|f| f.join(|_| inside(here), |f| f.join(|_| inside(here), |_| inside(here))));
                return a + b + c;
            }
            Install => return self.pools[1 - here].install(|| inside(1 - here)),
            InstallHere => return self.pools[here].install(|| inside(here)),
            Broadcast => return heist::broadcast(|_| inside(here)).into_iter().sum(),
            SpawnBroadcast => heist::scope(|s| s.spawn_broadcast(|_, _| add())),
            Blocking => return heist::blocking(|| inside(here)),
            Caught => {
                // Both halves run, one then unwinds; what they computed is kept on the side.
                let caught = catch_unwind(AssertUnwindSafe(|| {
                    heist::join(
                        || {
                            add();
                            resume_unwind(Box::new("thrown"));
                        },
                        add,
                    )
                }));
                let payload = caught.expect_err("a half has thrown");
                assert_eq!(payload.downcast_ref(), Some(&"thrown"));
            }
            Yield => {
                heist::yield_now();
                let inner = inside(here);
                heist::yield_local();
                return inner;
            }
        }
        sum.into_inner()
    }

    /// How often `door` runs its inside, and in which pool.
    fn expected(&self, door: Door, here: usize) -> (usize, usize) {
        let threads = self.pools[here].current_num_threads();
        match door {
            Join | JoinContext | InPlaceScope | InPlaceScopeFifo | Caught => (2, here),
            Scope | ScopeFifo | ForkTwice => (3, here),
            Fork | InstallHere | Blocking | Yield => (1, here),
            Install => (1, 1 - here),
            Broadcast | SpawnBroadcast => (threads, here),
        }
    }

    fn check_two(&self, outer: Door, inner: Door) {
        let (n, there) = self.expected(outer, 0);
        let (m, _) = self.expected(inner, there);
        let got = self.pools[0].install(|| self.enter(outer, 0, &|here| self.enter(inner, here, &|_| 1)));
        assert_eq!(got, n * m, "{inner:?} in {outer:?}");
    }

    fn check_three(&self, first: Door, second: Door, third: Door) {
        let (a, here) = self.expected(first, 0);
        let (b, here) = self.expected(second, here);
        let (c, _) = self.expected(third, here);
        let got = self.pools[0].install(|| {
            self.enter(first, 0, &|here| self.enter(second, here, &|here| self.enter(third, here, &|_| 1)))
        });
        assert_eq!(got, a * b * c, "{third:?} in {second:?} in {first:?}");
    }
}

#[test]
fn every_door_in_every_other() {
    let _watch = watch!();
    for (a, b) in [(1, 1), (2, 1), (1, 3), (2, 2), (4, 2), (8, 3)] {
        let world = World::new(a, b);
        for outer in ALL {
            for inner in ALL {
                world.check_two(outer, inner);
            }
        }
    }
}

#[test]
fn three_deep() {
    let _watch = watch!();
    for (a, b) in [(1, 1), (2, 2)] {
        let world = World::new(a, b);
        for first in ALL {
            for second in ALL {
                for third in ALL {
                    world.check_three(first, second, third);
                }
            }
        }
    }
}

/// Each door twice at the same time, from two threads outside.
#[test]
fn from_two_threads_at_once() {
    let _watch = watch!();
    let world = World::new(2, 2);
    std::thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                for outer in ALL {
                    for inner in ALL {
                        world.check_two(outer, inner);
                    }
                }
            });
        }
    });
}

/// From outside of all pools the doors lead to the global one.
#[test]
fn from_outside() {
    let _watch = watch!();
    let n = heist::current_num_threads();
    let sum = AtomicUsize::new(0);
    let add = || {
        sum.fetch_add(1, Ordering::Relaxed);
    };
    for _ in 0..100 {
        heist::join(add, add);
        heist::join_context(|_| add(), |_| add());
        heist::scope(|s| s.spawn(|_| add()));
        heist::scope_fifo(|s| s.spawn_fifo(|_| add()));
        heist::in_place_scope(|s| s.spawn(|_| add()));
        heist::in_place_scope_fifo(|s| s.spawn_fifo(|_| add()));
        heist::fork(|f| f.join(|_| add(), |_| add()));
        heist::broadcast(|_| add());
        heist::blocking(add);
        assert_eq!(heist::yield_now(), None);
        assert_eq!(heist::yield_local(), None);
        assert_eq!(sum.swap(0, Ordering::Relaxed), 11 + n);
    }
}

#[test]
fn in_fenced_mode() {
    let _watch = watch!();
    fenced::rerun_fenced(module_path!(), &["every_door", "from_"]);
}
