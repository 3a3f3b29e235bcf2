//! Promise 7: panics arrive once, where they belong, and never hang, abort or poison the pool.
//!
//! The product of where it panics, how many workers there are, and whether the call comes from outside or from a worker. Public
//! bugs of this kind: futures-intrusive #73 (a panic in a callback leaves the list inconsistent), tokio #2309 (a thread that
//! dies is still counted).

use crate::rig::child;
use crate::rig::fenced;
use crate::rig::pool::{guest_pool, pool};
use crate::rig::watchdog::watch;
use heist::{ThreadPool, ThreadPoolBuilder};
use heist_sync::atomic::{AtomicUsize, Ordering};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const SIZES: [usize; 3] = [1, 2, 4];

/// Rounds of each case: with more than one worker, some of them steal and some do not.
const ROUNDS: usize = 30;

/// What a test throws, and a count of how often it was dropped.
struct Bomb {
    name: &'static str,
    drops: Arc<AtomicUsize>,
    /// Its drop panics too.
    armed: bool,
}

impl Drop for Bomb {
    fn drop(&mut self) {
        self.drops.fetch_add(1, Ordering::SeqCst);
        if self.armed {
            // Without the hook, whose output would drown a real failure.
            resume_unwind(Box::new("the payload's drop"));
        }
    }
}

/// Throws bombs and counts them.
#[derive(Clone, Default)]
struct Thrower {
    thrown: Arc<AtomicUsize>,
    drops: Arc<AtomicUsize>,
    armed: bool,
}

impl Thrower {
    fn throw(&self, name: &'static str) -> ! {
        self.thrown.fetch_add(1, Ordering::SeqCst);
        resume_unwind(Box::new(Bomb { name, drops: Arc::clone(&self.drops), armed: self.armed }))
    }

    fn thrown(&self) -> usize {
        self.thrown.load(Ordering::SeqCst)
    }

    fn drops(&self) -> usize {
        self.drops.load(Ordering::SeqCst)
    }
}

/// Takes the bomb apart without its drop doing harm, and tells its name.
fn defuse(payload: Box<dyn Any + Send>) -> &'static str {
    let mut bomb = payload.downcast::<Bomb>().expect("a bomb");
    bomb.armed = false;
    bomb.name
}

fn compute(for_us: u64) {
    let until = Instant::now() + Duration::from_micros(for_us);
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}

/// The pool still does everything on all of its indices.
fn check_alive(pool: &ThreadPool) {
    let n = pool.current_num_threads();
    assert_eq!(pool.broadcast(|c| c.index()), (0..n).collect::<Vec<_>>());
    let count = AtomicUsize::new(0);
    pool.scope(|s| {
        for _ in 0..4 * n {
            s.spawn(|_| {
                heist::join(
                    || count.fetch_add(1, Ordering::Relaxed),
                    || count.fetch_add(1, Ordering::Relaxed),
                );
            });
        }
    });
    assert_eq!(count.into_inner(), 8 * n);
}

/// A case: throws some bombs and marks the other parts that must still run.
struct Case {
    name: &'static str,
    /// The names that may arrive.
    arrives: &'static [&'static str],
    throws: usize,
    /// Parts that mark themselves, for each of the pool's workers if negative.
    marks: isize,
    run: fn(&Thrower, &(dyn Fn() + Sync)),
}

const CASES: &[Case] = &[
    Case {
        name: "first half",
        arrives: &["a"],
        throws: 1,
        marks: 1,
        run: |t, mark| {
            heist::join(|| t.throw("a"), mark);
        },
    },
    Case {
        name: "first half, second stolen",
        arrives: &["a"],
        throws: 1,
        marks: 1,
        run: |t, mark| {
            let a = || {
                compute(100);
                t.throw("a")
            };
            let b = || {
                compute(200);
                mark();
            };
            heist::join(a, b);
        },
    },
    Case {
        name: "second half",
        arrives: &["b"],
        throws: 1,
        marks: 1,
        run: |t, mark| {
            heist::join(mark, || t.throw("b"));
        },
    },
    Case {
        name: "second half, stolen",
        arrives: &["b"],
        throws: 1,
        marks: 1,
        run: |t, mark| {
            let a = || {
                compute(100);
                mark();
            };
            heist::join(a, || t.throw("b"));
        },
    },
    Case {
        name: "both halves",
        arrives: &["a"],
        throws: 2,
        marks: 0,
        run: |t, _| {
            heist::join(|| t.throw("a"), || t.throw("b"));
        },
    },
    Case {
        name: "both halves, second stolen",
        arrives: &["a"],
        throws: 2,
        marks: 0,
        run: |t, _| {
            let a = || {
                compute(100);
                t.throw("a")
            };
            heist::join(a, || t.throw("b"));
        },
    },
    Case {
        name: "join_context",
        arrives: &["b"],
        throws: 1,
        marks: 1,
        run: |t, mark| {
            heist::join_context(|_| mark(), |_| t.throw("b"));
        },
    },
    Case {
        name: "nested joins",
        arrives: &["deep"],
        throws: 1,
        marks: 3,
        run: |t, mark| {
            heist::join(|| heist::join(mark, || heist::join(|| t.throw("deep"), mark)), mark);
        },
    },
    Case {
        name: "fork",
        arrives: &["f"],
        throws: 1,
        marks: 0,
        run: |t, _| {
            heist::fork(|_| t.throw("f"));
        },
    },
    Case {
        name: "Fork::join",
        arrives: &["b"],
        throws: 1,
        marks: 2,
        run: |t, mark| {
            heist::fork(|f| f.join(|f| f.join(|_| mark(), |_| t.throw("b")), |_| mark()));
        },
    },
    Case {
        name: "body of a scope",
        arrives: &["body"],
        throws: 1,
        marks: 3,
        run: |t, mark| {
            heist::scope(|s| {
                (0..3).for_each(|_| s.spawn(|_| mark()));
                t.throw("body")
            });
        },
    },
    Case {
        name: "job of a scope",
        arrives: &["job"],
        throws: 1,
        marks: 4,
        run: |t, mark| {
            heist::scope(|s| {
                s.spawn(|_| mark());
                s.spawn(|_| t.throw("job"));
                s.spawn(|s| s.spawn(|_| mark()));
                s.spawn(|_| mark());
                mark();
            });
        },
    },
    Case {
        name: "all jobs of a scope and its body",
        arrives: &["job", "body"],
        throws: 5,
        marks: 0,
        run: |t, _| {
            heist::scope(|s| {
                (0..4).for_each(|_| s.spawn(|_| t.throw("job")));
                t.throw("body")
            });
        },
    },
    Case {
        name: "job of a fifo scope",
        arrives: &["job"],
        throws: 2,
        marks: 2,
        run: |t, mark| {
            heist::scope_fifo(|s| {
                s.spawn_fifo(|_| mark());
                s.spawn_fifo(|_| t.throw("job"));
                s.spawn_fifo(|_| t.throw("job"));
                s.spawn_fifo(|_| mark());
            });
        },
    },
    Case {
        name: "job of a scope in place",
        arrives: &["job"],
        throws: 1,
        marks: 2,
        run: |t, mark| {
            heist::in_place_scope(|s| {
                s.spawn(|_| t.throw("job"));
                s.spawn(|_| mark());
                mark();
            });
        },
    },
    Case {
        name: "one call of a broadcast",
        arrives: &["call"],
        throws: 1,
        marks: -1,
        run: |t, mark| {
            heist::broadcast(|c| {
                mark();
                if c.index() == 0 {
                    t.throw("call");
                }
            });
        },
    },
    Case {
        name: "one call of a scope's broadcast",
        arrives: &["call"],
        throws: 1,
        marks: -1,
        run: |t, mark| {
            heist::scope(|s| {
                s.spawn_broadcast(|_, c| {
                    mark();
                    if c.index() + 1 == c.num_threads() {
                        t.throw("call");
                    }
                });
            });
        },
    },
    Case {
        name: "blocking",
        arrives: &["blocked"],
        throws: 1,
        marks: 0,
        run: |t, _| {
            heist::blocking(|| t.throw("blocked"));
        },
    },
    Case {
        name: "half inside of blocking",
        arrives: &["a"],
        throws: 1,
        marks: 1,
        run: |t, mark| {
            heist::blocking(|| heist::join(|| t.throw("a"), mark));
        },
    },
];

#[test]
fn every_case_on_every_pool() {
    let _watch = watch!();
    for n in SIZES {
        let (pool, guests) = (pool(n), guest_pool(n));
        for case in CASES {
            for armed in [false, true] {
                for round in 0..ROUNDS {
                    let what = format!("{}, {n} workers, armed: {armed}, round {round}", case.name);
                    let thrower = Thrower { armed, ..Thrower::default() };
                    let marks = AtomicUsize::new(0);
                    let mark = || {
                        marks.fetch_add(1, Ordering::SeqCst);
                    };
                    let run = || (case.run)(&thrower, &mark);
                    let caught = match round % 3 {
                        // Caught outside, after the way out of the pool.
                        0 => catch_unwind(AssertUnwindSafe(|| pool.install(run))),
                        // Caught by the job itself.
                        1 => pool.install(|| catch_unwind(AssertUnwindSafe(run))),
                        // On a guest of the pool, if a worker sleeps.
                        _ => catch_unwind(AssertUnwindSafe(|| guests.install(run))),
                    };
                    let name = defuse(caught.expect_err(&what));
                    assert!(case.arrives.contains(&name), "{what}: {name} arrived");
                    assert_eq!(thrower.thrown(), case.throws, "{what}");
                    let wanted = if case.marks < 0 { n } else { case.marks as usize };
                    assert_eq!(marks.load(Ordering::SeqCst), wanted, "{what}: the other parts have run");
                    assert_eq!(thrower.drops(), case.throws, "{what}: each payload is dropped once");
                }
            }
        }
        check_alive(&pool);
    }
}

/// The same from outside of all pools, in the global one.
#[test]
fn every_case_from_outside() {
    let _watch = watch!();
    let n = heist::current_num_threads();
    for case in CASES {
        let thrower = Thrower::default();
        let marks = AtomicUsize::new(0);
        let mark = || {
            marks.fetch_add(1, Ordering::SeqCst);
        };
        let caught = catch_unwind(AssertUnwindSafe(|| (case.run)(&thrower, &mark)));
        let name = defuse(caught.expect_err(case.name));
        assert!(case.arrives.contains(&name), "{}: {name} arrived", case.name);
        let wanted = if case.marks < 0 { n } else { case.marks as usize };
        assert_eq!((thrower.thrown(), marks.into_inner()), (case.throws, wanted), "{}", case.name);
    }
}

/// A detached job's panic goes to the handler, once, and nowhere else.
#[test]
fn detached_jobs_panic_into_the_handler() {
    let _watch = watch!();
    for n in SIZES {
        let got = Arc::new(Mutex::new(Vec::new()));
        let (keep, thrower) = (Arc::clone(&got), Thrower::default());
        let pool = ThreadPoolBuilder::new()
            .num_threads(n)
            .panic_handler(move |payload| keep.lock().unwrap().push(defuse(payload)))
            .build()
            .unwrap();
        for _ in 0..ROUNDS {
            let t = thrower.clone();
            pool.spawn(move || t.throw("spawn"));
            let t = thrower.clone();
            pool.spawn_fifo(move || t.throw("spawn_fifo"));
            let t = thrower.clone();
            pool.install(|| heist::spawn(move || t.throw("inner")));
            let t = thrower.clone();
            pool.spawn_broadcast(move |_| t.throw("broadcast"));
        }
        check_alive(&pool);
        pool.shutdown().unwrap();
        let got = got.lock().unwrap();
        for (name, times) in [("spawn", 1), ("spawn_fifo", 1), ("inner", 1), ("broadcast", n)] {
            assert_eq!(got.iter().filter(|g| **g == name).count(), times * ROUNDS, "{name}, {n} workers");
        }
        assert_eq!(thrower.drops(), (3 + n) * ROUNDS);
    }
}

/// Without a handler the pool goes on. (rayon aborts the process here.)
#[test]
fn detached_jobs_panic_without_a_handler() {
    let _watch = watch!();
    for n in SIZES {
        for armed in [false, true] {
            let pool = pool(n);
            let thrower = Thrower { armed, ..Thrower::default() };
            for _ in 0..ROUNDS {
                let t = thrower.clone();
                pool.spawn(move || t.throw("spawn"));
            }
            check_alive(&pool);
            pool.shutdown().unwrap();
            assert_eq!((thrower.thrown(), thrower.drops()), (ROUNDS, ROUNDS));
        }
    }
}

/// A handler that panics itself is caught too.
#[test]
fn the_panic_handler_panics() {
    let _watch = watch!();
    for n in SIZES {
        for armed in [false, true] {
            let calls = Arc::new(AtomicUsize::new(0));
            let thrower = Thrower { armed, ..Thrower::default() };
            let (count, again) = (Arc::clone(&calls), thrower.clone());
            let pool = ThreadPoolBuilder::new()
                .num_threads(n)
                .panic_handler(move |payload| {
                    count.fetch_add(1, Ordering::SeqCst);
                    defuse(payload);
                    again.throw("the handler")
                })
                .build()
                .unwrap();
            for _ in 0..ROUNDS {
                let t = thrower.clone();
                pool.spawn(move || t.throw("spawn"));
            }
            check_alive(&pool);
            pool.shutdown().unwrap();
            assert_eq!(calls.load(Ordering::SeqCst), ROUNDS);
            assert_eq!((thrower.thrown(), thrower.drops()), (2 * ROUNDS, 2 * ROUNDS));
        }
    }
}

/// Start and exit handlers that panic: the panic goes to the panic handler, and the thread works all the same.
#[test]
fn start_and_exit_handlers_panic() {
    let _watch = watch!();
    for n in SIZES {
        let names = Arc::new(Mutex::new(Vec::new()));
        let keep = Arc::clone(&names);
        let thrower = Thrower::default();
        let (start, exit) = (thrower.clone(), thrower.clone());
        let pool = ThreadPoolBuilder::new()
            .num_threads(n)
            .start_handler(move |_| start.throw("start"))
            .exit_handler(move |_| exit.throw("exit"))
            .panic_handler(move |payload| keep.lock().unwrap().push(defuse(payload)))
            .build()
            .unwrap();
        check_alive(&pool);
        pool.shutdown().unwrap();
        let names = names.lock().unwrap();
        let count = |name| names.iter().filter(|got| **got == name).count();
        assert!(count("start") >= n, "{names:?}");
        assert_eq!(count("start"), count("exit"));
        assert_eq!(thrower.drops(), thrower.thrown());
    }
}

/// The lock that a panicking half held is poisoned for its users and nobody else; the pool's own state is not.
#[test]
fn a_lock_held_by_a_panicking_half_is_released() {
    let _watch = watch!();
    for n in SIZES {
        let pool = pool(n);
        for _ in 0..ROUNDS {
            let lock = Mutex::new(0);
            let thrower = Thrower::default();
            let caught = catch_unwind(AssertUnwindSafe(|| {
                pool.install(|| {
                    let _held = lock.lock().unwrap();
                    heist::join(|| compute(20), || thrower.throw("b"));
                });
            }));
            assert_eq!(defuse(caught.unwrap_err()), "b");
            assert!(
                lock.is_poisoned()
                    && lock.try_lock().is_err_and(|e| matches!(e, std::sync::TryLockError::Poisoned(_)))
            );
        }
        check_alive(&pool);
    }
}

/// Results that were made before the other half panicked are dropped, not leaked and not dropped twice.
#[test]
fn results_of_the_other_half_are_dropped_once() {
    struct Counted(Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let _watch = watch!();
    for n in SIZES {
        let pool = pool(n);
        for round in 0..2 * ROUNDS {
            let drops = Arc::new(AtomicUsize::new(0));
            let thrower = Thrower::default();
            let make = || {
                compute(if round % 4 < 2 { 0 } else { 60 });
                Counted(Arc::clone(&drops))
            };
            let throw = || -> Counted { thrower.throw("half") };
            let caught = catch_unwind(AssertUnwindSafe(|| {
                pool.install(
                    || if round % 2 == 0 { heist::join(make, throw) } else { heist::join(throw, make) },
                )
            }));
            assert_eq!(defuse(caught.err().unwrap()), "half");
            assert_eq!(drops.load(Ordering::SeqCst), 1, "{n} workers, round {round}");
        }
    }
}

/// With `panic!` itself, whose hook runs: the second half panics while the first one's panic unwinds over it.
#[test]
fn both_halves_with_the_panic_hook() {
    let _watch = watch!();
    for n in SIZES {
        let pool = pool(n);
        for round in 0..ROUNDS {
            let caught = catch_unwind(AssertUnwindSafe(|| {
                pool.install(|| {
                    let a = || {
                        compute(if round % 2 == 0 { 0 } else { 100 });
                        panic!("first")
                    };
                    heist::join(a, || panic!("second"))
                })
            }));
            assert_eq!(caught.err().unwrap().downcast_ref::<&str>(), Some(&"first"));
        }
        check_alive(&pool);
    }
}

const CHILD: &str = "HEIST_TEST_CHILD";

/// For a case whose failure is the end of the process: the test `name` runs itself in a process of its own. True in there.
fn is_child(name: &str) -> bool {
    if std::env::var_os(CHILD).is_some() {
        return true;
    }
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &child::test_name(module_path!(), name), "--nocapture"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    false
}

/// A name is asked for whenever a spare is started, deep inside of somebody's wait: a panic of `thread_name` must not unwind over
/// frames that other threads still use.
#[test]
fn thread_name_panics_for_a_spare() {
    let _watch = watch!();
    if !is_child("thread_name_panics_for_a_spare") {
        return;
    }
    for n in SIZES {
        let calls = AtomicUsize::new(0);
        let pool = ThreadPoolBuilder::new()
            .num_threads(n)
            .thread_name(move |i| {
                if calls.fetch_add(1, Ordering::SeqCst) >= n {
                    resume_unwind(Box::new("no name"));
                }
                format!("w{i}")
            })
            .build()
            .unwrap();
        let count = AtomicUsize::new(0);
        pool.scope(|s| {
            for _ in 0..4 * n {
                s.spawn(|_| {
                    let slow = || {
                        compute(500);
                        count.fetch_add(1, Ordering::SeqCst);
                    };
                    heist::join(slow, || heist::join(slow, slow));
                    heist::blocking(|| count.fetch_add(1, Ordering::SeqCst));
                });
            }
        });
        assert_eq!(count.into_inner(), 16 * n);
        check_alive(&pool);
        pool.shutdown().unwrap();
    }
}

/// A build that unwinds leaves no threads behind.
#[test]
fn spawn_handler_panics() {
    let _watch = watch!();
    for failing in 0..3 {
        let mut handles = Vec::new();
        let caught = catch_unwind(AssertUnwindSafe(|| {
            ThreadPoolBuilder::new()
                .num_threads(3)
                .spawn_handler(|thread| {
                    if thread.index() == failing {
                        resume_unwind(Box::new("handler"));
                    }
                    handles.push(std::thread::spawn(move || thread.run()));
                    Ok(())
                })
                .build()
        }));
        assert_eq!(caught.err().unwrap().downcast_ref(), Some(&"handler"));
        assert_eq!(handles.len(), failing);
        handles.into_iter().for_each(|handle| handle.join().unwrap());
    }
}

/// The same for a name that panics while the pool is built: those that were started leave.
#[test]
fn thread_name_panics_in_build() {
    let _watch = watch!();
    let (send, receive) = channel::<()>();
    let send = Mutex::new(send);
    let caught = catch_unwind(AssertUnwindSafe(|| {
        ThreadPoolBuilder::new()
            .num_threads(3)
            // Held by the pool, and so gone when its last thread is.
            .start_handler(move |_| drop(send.lock().unwrap().clone()))
            .thread_name(|i| if i == 2 { resume_unwind(Box::new("name")) } else { format!("w{i}") })
            .build()
    }));
    assert_eq!(caught.err().unwrap().downcast_ref(), Some(&"name"));
    assert!(receive.recv().is_err(), "ends when the pool is gone");
}

/// The first half panics; the second's result is nobody's, and its drop panics too. Whether it was stolen must not decide
/// between a panic that arrives and the end of the process.
#[test]
fn a_result_whose_drop_panics() {
    struct Armed;
    impl Drop for Armed {
        fn drop(&mut self) {
            resume_unwind(Box::new("the result's drop"));
        }
    }
    let _watch = watch!();
    if !is_child("a_result_whose_drop_panics") {
        return;
    }
    for n in SIZES {
        let pool = pool(n);
        for round in 0..ROUNDS {
            let thrower = Thrower::default();
            let a = || {
                compute(if round % 2 == 0 { 0 } else { 200 });
                thrower.throw("a")
            };
            let caught = catch_unwind(AssertUnwindSafe(|| pool.install(|| heist::join(a, || Armed))));
            assert_eq!(defuse(caught.err().unwrap()), "a");
        }
        check_alive(&pool);
    }
}

/// Captured values of a detached closure that panics are dropped, before the handler hears of it or after, but once.
#[test]
fn captured_values_are_dropped() {
    let _watch = watch!();
    for n in SIZES {
        let pool = pool(n);
        let (send, receive) = channel::<()>();
        for _ in 0..ROUNDS {
            let send = send.clone();
            let thrower = Thrower::default();
            pool.spawn(move || {
                let _keep = send;
                thrower.throw("spawn");
            });
        }
        drop(send);
        // Ends only when every sender has been dropped.
        assert!(receive.recv().is_err());
    }
}

#[test]
fn in_fenced_mode() {
    let _watch = watch!();
    fenced::rerun_fenced(module_path!(), &["every_case"]);
}
