//! `fork(2)` without `exec`: the child has one thread and a copy of everything else. Its global pool starts afresh, what belongs to the
//! parent's threads answers with an error that names the fork, and nothing hangs.

#![cfg(target_os = "linux")]

use crate::rig::child::{case, child, ends_well};
use crate::rig::count::Count;
use crate::rig::forked::{Forked, assert_named, end, fork, in_child, message_here, message_of, text_of};
use crate::rig::gate::Gate;
use crate::rig::watchdog::watch;
use heist::net::{TcpListener, TcpStream};
use heist::prelude::*;
use heist::task::{JoinSet, compute, spawn, spawn_blocking};
use heist::time::sleep;
use heist::{ShutdownError, TaskGroup, ThreadPool, ThreadPoolBuilder, block_on};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Runs `body` in a process of its own, whose pools have `threads` threads unless they say otherwise.
fn alone(name: &str, threads: usize, body: impl FnOnce()) {
    if case().is_some() {
        return body();
    }
    ends_well(child(module_path!(), name, "alone").env("HEIST_NUM_THREADS", threads.to_string()));
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = heist::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// A pool whose jobs run on its own threads only.
fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool")
}

async fn echo() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut byte = [0];
        stream.read_exact(&mut byte).await.unwrap();
        stream.write_all(&byte).await.unwrap();
    });
    let client = TcpStream::connect(address).await.unwrap();
    client.write_all(b"x").await.unwrap();
    let mut byte = [0];
    client.read_exact(&mut byte).await.unwrap();
    assert_eq!(&byte, b"x");
    server.await.unwrap();
}

/// Everything that the global pool is for.
fn use_global_pool() {
    assert_eq!(fib(15), 610);
    assert_eq!((0..10_000_u64).into_par_iter().map(|x| x * 2).sum::<u64>(), 99_990_000);
    let n = AtomicUsize::new(0);
    heist::scope(|s| {
        for _ in 0..100 {
            s.spawn(|_| _ = n.fetch_add(1, Ordering::Relaxed));
        }
    });
    assert_eq!(n.into_inner(), 100);
    assert_eq!(heist::broadcast(|_| 1).len(), heist::current_num_threads());
    block_on(async {
        assert_eq!(spawn(async { 42 }).await.unwrap(), 42);
        sleep(Duration::from_millis(2)).await;
        assert_eq!(spawn_blocking(|| 7).await.unwrap(), 7);
        assert_eq!(compute(|| fib(10)).await, 55);
        let mut set: JoinSet<_> = (0..10).map(|i| async move { i }).collect();
        let mut sum = 0;
        while let Some(i) = set.join_next().await {
            sum += i.unwrap();
        }
        assert_eq!(sum, 45);
        echo().await;
    });
    let pool = pool(2);
    assert_eq!(pool.install(|| fib(12)), 144);
    pool.shutdown().unwrap();
}

#[test]
fn from_outside() {
    let _watchdog = watch!();
    alone("from_outside", 2, || {
        use_global_pool();
        let pool = pool(2);
        let gate = Gate::new();
        let blocker = gate.clone();
        let begun = Count::new(1);
        let beginner = begun.clone();
        pool.spawn(move || {
            beginner.knock();
            blocker.block();
        });
        begun.gate.block();
        for _ in 0..3 {
            in_child(use_global_pool);
        }
        in_child(|| {
            use_global_pool();
            // And its children.
            in_child(use_global_pool);
            use_global_pool();
        });
        in_child(|| drop(pool));
        // The usual way out, with all destructors of the thread.
        in_child(|| {
            use_global_pool();
            std::process::exit(0);
        });
        gate.open();
        use_global_pool();
    });
}

#[test]
fn the_parents_pools_say_so() {
    let _watchdog = watch!();
    alone("the_parents_pools_say_so", 2, || {
        let [first, second, third, fourth, paused] = [(); 5].map(|()| pool(2));
        paused.set_num_threads(0).unwrap();
        assert_eq!(first.install(|| fib(10)), 55);
        let waiting = spawn(std::future::pending::<()>());
        let done = spawn(async { 5 });
        while !done.is_finished() {
            std::thread::yield_now();
        }
        let gate = Gate::new();
        let (gate_of_call, gate_of_compute) = (gate.clone(), gate.clone());
        let blocked = spawn_blocking(move || gate_of_call.block());
        let computing = compute(move || gate_of_compute.block());
        let mut set: JoinSet<()> = JoinSet::new();
        set.spawn(std::future::pending());
        let mut group = TaskGroup::<()>::new();
        block_on(group.spawn(std::future::pending()));
        in_child(move || {
            use_global_pool();
            assert_named(&message_here(|| first.install(|| ())));
            assert_named(&message_here(|| first.spawn(|| ())));
            assert_named(&message_here(|| first.spawn_fifo(|| ())));
            assert_named(&message_here(|| first.join(|| (), || ())));
            assert_named(&message_here(|| first.scope(|_| ())));
            assert_named(&message_here(|| first.in_place_scope(|s| s.spawn(|_| ()))));
            assert_named(&message_here(|| first.broadcast(|_| ())));
            assert_named(&message_here(|| first.spawn_broadcast(|_| ())));
            assert_named(&message_here(|| first.in_place_scope(|s| s.spawn_broadcast(|_, _| ()))));
            assert_named(&message_here(|| _ = first.set_num_threads(1)));
            assert_named(&message_here(|| paused.spawn_broadcast(|_| ())));
            assert_named(&message_here(|| paused.in_place_scope(|s| s.spawn_broadcast(|_, _| ()))));
            assert_named(&message_here(|| paused.broadcast(|_| ())));
            drop(paused);
            assert_named(&message_here(|| first.fork(|_| ())));
            assert_named(&message_here(|| first.block_on(async {})));
            assert_named(&message_here(|| drop(first.spawn_task(async {}))));
            assert_named(&message_here(|| first.start_trace()));
            assert_named(&message_of(|| block_on(computing)));
            assert_named(&message_of(|| group.has_failed()));
            drop(group);
            let error = block_on(waiting).unwrap_err();
            assert!(error.is_foreign() && !error.is_cancelled() && !error.is_panic());
            assert_named(&error.to_string());
            assert_named(&block_on(blocked).unwrap_err().to_string());
            assert_named(&block_on(set.join_next()).unwrap().unwrap_err().to_string());
            assert!(block_on(set.join_next()).is_none());
            // Empty, it may be used again.
            set.spawn(async {});
            block_on(set.join_next()).unwrap().unwrap();
            assert_eq!(block_on(done).unwrap(), 5, "it had ended before");
            drop(first);
            assert!(matches!(second.shutdown(), Err(ShutdownError::Forked)));
            let error = third.shutdown_within(Duration::from_secs(60)).unwrap_err();
            assert_named(&error.to_string());
            drop(fourth);
            use_global_pool();
        });
        gate.open();
        use_global_pool();
    });
}

#[test]
fn sockets_and_timers() {
    let _watchdog = watch!();
    alone("sockets_and_timers", 2, || {
        let listener = block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let other = block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let third = block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let mut timer = Box::pin(sleep(Duration::from_millis(300)));
        let deadline = timer.deadline();
        let long = sleep(Duration::from_secs(3600));
        block_on(async {
            assert!(futures_lite::future::poll_once(&mut timer).await.is_none());
            let mut long = Box::pin(long);
            assert!(futures_lite::future::poll_once(&mut long).await.is_none());
            let mut accept = Box::pin(listener.accept());
            assert!(futures_lite::future::poll_once(&mut accept).await.is_none());
            match fork() {
                Some(child) => {
                    assert_eq!(child.status(), 0);
                    // The child's end has taken nothing from the driver.
                    let client = spawn(TcpStream::connect(address));
                    accept.await.unwrap();
                    client.await.unwrap().unwrap();
                    for listener in [other, third] {
                        let client = spawn(TcpStream::connect(listener.local_addr().unwrap()));
                        listener.accept().await.unwrap();
                        client.await.unwrap().unwrap();
                    }
                    timer.await;
                }
                None => {
                    let rest = async {
                        assert_named(&accept.await.unwrap_err().to_string());
                        assert_named(&listener.accept().await.unwrap_err().to_string());
                        timer.await;
                        assert!(Instant::now() >= deadline, "it was set anew");
                        drop(long);
                        // What was taken out may be put into a new one.
                        let again = TcpListener::from_std(other.into_std()).unwrap();
                        let client = spawn(TcpStream::connect(again.local_addr().unwrap()));
                        again.accept().await.unwrap();
                        client.await.unwrap().unwrap();
                        drop(third);
                    };
                    let rest = AssertUnwindSafe(async { block_on(rest) });
                    let is_well = futures_lite::FutureExt::catch_unwind(rest).await.is_ok();
                    end(if is_well { 0 } else { 101 });
                }
            }
        });
    });
}

/// A future that is polled by `block_on` beside one that forks: in the child it hears of the fork without having been woken.
#[test]
fn block_on_polls_once_more() {
    let _watchdog = watch!();
    alone("block_on_polls_once_more", 2, || {
        let mut waiting = spawn(std::future::pending::<()>());
        let mut forked = None;
        let error = block_on(std::future::poll_fn(|cx| {
            let polled = std::pin::Pin::new(&mut waiting).poll(cx);
            if polled.is_pending() && forked.is_none() {
                forked = Some(fork());
                if let Some(Some(_)) = &forked {
                    return std::task::Poll::Ready(None);
                }
            }
            polled.map(Some)
        }));
        match forked.flatten() {
            Some(child) => assert_eq!(child.status(), 0),
            None => end(i32::from(!error.unwrap().unwrap_err().to_string().contains("fork()"))),
        }
    });
}

#[test]
fn a_guest_whose_half_was_not_stolen() {
    let _watchdog = watch!();
    // With one permit, which is the guest's, nobody steals.
    alone("a_guest_whose_half_was_not_stolen", 1, || {
        let (child, sum) = heist::join(fork, || fib(15));
        // A child that comes here has run the second half itself.
        match child {
            None => {
                end(i32::from(sum != 610 || catch_unwind(use_global_pool).is_err()));
            }
            Some(child) => assert_eq!((child.status(), sum), (0, 610)),
        }
        // In depth, with several halves pending, and by `Fork`.
        fn deep(depth: u32) -> (Option<Option<Forked>>, u64) {
            if depth == 0 {
                return (Some(fork()), 0);
            }
            let ((child, a), b) = heist::join(|| deep(depth - 1), || fib(8));
            (child, a + b)
        }
        fn deep_fork(f: &heist::Fork<'_>, depth: u32) -> (Option<Option<Forked>>, u64) {
            if depth == 0 {
                let child = fork();
                let (a, b) = f.join(|_| 1, |_| 2);
                return (Some(child), a + b);
            }
            let ((child, a), b) = f.join(|f| deep_fork(&f, depth - 1), |_| 1);
            (child, a + b)
        }
        for (result, expected) in [(deep(20), 20 * 21), (heist::fork(|f| deep_fork(&f, 20)), 23)] {
            let (child, sum) = result;
            match child.unwrap() {
                None => end(i32::from(sum != expected || catch_unwind(use_global_pool).is_err())),
                Some(child) => assert_eq!((child.status(), sum), (0, expected)),
            }
        }
    });
}

/// A join whose first half forks while another thread runs the second.
fn join_whose_half_is_stolen() -> i32 {
    let (begun, gate) = (Count::new(1), Gate::new());
    let first = || {
        begun.gate.block();
        let child = fork();
        if child.is_some() {
            gate.open();
        }
        child
    };
    let second = || {
        begun.knock();
        gate.block();
    };
    match catch_unwind(AssertUnwindSafe(|| heist::join(first, second))) {
        Ok((child, ())) => child.expect("the child's join does not return").status(),
        Err(payload) => {
            let is_named = text_of(&*payload).contains("fork()");
            end(i32::from(!is_named || catch_unwind(use_global_pool).is_err()))
        }
    }
}

/// A scope whose body forks while another thread runs its job.
fn scope_whose_job_is_stolen() -> i32 {
    let (begun, gate) = (Count::new(1), Gate::new());
    let scope = || {
        heist::scope(|s| {
            s.spawn(|_| {
                begun.knock();
                gate.block();
            });
            begun.gate.block();
            let child = fork();
            if child.is_some() {
                gate.open();
            }
            child
        })
    };
    match catch_unwind(AssertUnwindSafe(scope)) {
        Ok(child) => child.expect("the child's scope does not return").status(),
        Err(payload) => {
            let is_named = text_of(&*payload).contains("fork()");
            end(i32::from(!is_named || catch_unwind(use_global_pool).is_err()))
        }
    }
}

#[test]
fn a_job_that_was_stolen() {
    let _watchdog = watch!();
    alone("a_job_that_was_stolen", 2, || {
        assert_eq!(heist::scope(|_| scope_whose_job_is_stolen()), 0, "a guest's");
        assert_eq!(pool(2).install(scope_whose_job_is_stolen), 0, "a worker's");
        let pool = ThreadPoolBuilder::new().num_threads(2).use_current_thread().build().unwrap();
        assert_eq!(pool.install(scope_whose_job_is_stolen), 0, "the maker's");
    });
}

#[test]
fn a_half_that_was_stolen() {
    let _watchdog = watch!();
    alone("a_half_that_was_stolen", 2, || {
        // If a worker has not come to rest yet, no permit is free for a guest, and it is a worker's.
        assert_eq!(heist::scope(|_| join_whose_half_is_stolen()), 0, "a guest's");
        assert_eq!(pool(2).install(join_whose_half_is_stolen), 0, "a worker's");
        let pool = ThreadPoolBuilder::new().num_threads(2).use_current_thread().build().unwrap();
        assert_eq!(pool.install(join_whose_half_is_stolen), 0, "the maker's");
    });
}

#[test]
fn from_a_job() {
    let _watchdog = watch!();
    alone("from_a_job", 2, || {
        // With one thread nobody steals.
        let pool = pool(1);
        // It ends itself, it returns, it panics.
        for (then, expected) in [(0, 7), (1, 0), (2, 101)] {
            let job = move || {
                let Some(child) = fork() else {
                    use_global_pool();
                    match then {
                        0 => end(7),
                        1 => return None,
                        _ => panic!("in the child, on purpose"),
                    }
                };
                Some(child.status())
            };
            assert_eq!(pool.install(job), Some(expected), "as a call");
            let (half, _) = pool.install(|| heist::join(job, || fib(10)));
            assert_eq!(half, Some(expected), "as a half");
            let status = pool.scope(|_| {
                let own = job;
                own()
            });
            assert_eq!(status, Some(expected), "as the body of a scope");
            let mut status = None;
            pool.scope(|s| {
                s.spawn(|_| {
                    // The child must not touch what lies on another thread's stack, the closure included.
                    let own = job;
                    if let Some(got) = own() {
                        status = Some(got);
                    }
                });
            });
            assert_eq!(status, Some(expected), "as a job of a scope");
            let (send, receive) = std::sync::mpsc::channel();
            pool.spawn(move || send.send(job()).unwrap());
            assert_eq!(receive.recv().unwrap(), Some(expected), "detached");
            let statuses = pool.broadcast(|_| {
                // The closure lies on the caller's stack, which the child's threads may use.
                let own = job;
                own()
            });
            assert_eq!(statuses, [Some(expected)], "as a broadcast");
            let status = pool.install(|| heist::blocking(job));
            assert_eq!(status, Some(expected), "inside of blocking");
        }
        assert_eq!(pool.install(|| fib(12)), 144);
        pool.shutdown().unwrap();
    });
}

#[test]
fn from_tasks_and_calls() {
    let _watchdog = watch!();
    alone("from_tasks_and_calls", 2, || {
        let pool = pool(2);
        for (then, expected) in [(0, 7), (1, 0), (2, 101)] {
            let run = move || {
                let Some(child) = fork() else {
                    use_global_pool();
                    match then {
                        0 => end(7),
                        1 => return None,
                        _ => panic!("in the child, on purpose"),
                    }
                };
                Some(child.status())
            };
            assert_eq!(block_on(pool.spawn_task(async move { run() })).unwrap(), Some(expected), "a task");
            let awaits = async move {
                let status = run();
                sleep(Duration::from_millis(1)).await;
                status
            };
            if then != 2 {
                assert_eq!(block_on(pool.spawn_task(awaits)).unwrap(), Some(expected), "a task that awaits");
            }
            assert_eq!(block_on(spawn_blocking(run)).unwrap(), Some(expected), "a blocking call");
            assert_eq!(block_on(compute(run)), Some(expected), "a computation");
            let pinned = heist::task::spawn_pinned(move || async move { run() }).unwrap();
            assert_eq!(block_on(pinned).unwrap(), Some(expected), "a pinned task");
        }
        use_global_pool();
    });
}

#[test]
fn scopes() {
    let _watchdog = watch!();
    alone("scopes", 1, || {
        // All jobs lie in the guest's own queue: the child runs them as well.
        for is_fifo in [false, true] {
            let n = AtomicUsize::new(0);
            let count = || _ = n.fetch_add(1, Ordering::Relaxed);
            let child = if is_fifo {
                heist::scope_fifo(|s| {
                    (0..10).for_each(|_| s.spawn_fifo(|_| count()));
                    fork()
                })
            } else {
                heist::scope(|s| {
                    (0..10).for_each(|_| s.spawn(|_| count()));
                    fork()
                })
            };
            match child {
                None => end(i32::from(n.into_inner() != 10 || catch_unwind(use_global_pool).is_err())),
                Some(child) => assert_eq!((child.status(), n.into_inner()), (0, 10)),
            }
        }
        // Those of a scope outside lie with the pool.
        let pool = pool(1);
        let gate = Gate::new();
        let blocker = gate.clone();
        pool.spawn(move || blocker.block());
        let scope = || {
            pool.in_place_scope(|s| {
                s.spawn(|_| ());
                let child = fork();
                if child.is_some() {
                    gate.open();
                } else {
                    assert_named(&message_of(|| s.spawn(|_| ())));
                }
                child
            })
        };
        match catch_unwind(AssertUnwindSafe(scope)) {
            Ok(child) => assert_eq!(child.expect("the child's scope does not return").status(), 0),
            Err(payload) => end(i32::from(!text_of(&*payload).contains("fork()"))),
        }
        // One in which nothing is pending ends.
        match pool.in_place_scope(|_| fork()) {
            Some(child) => assert_eq!(child.status(), 0),
            None => end(0),
        }
    });
}

/// In the middle of a parallel loop.
#[test]
fn from_a_loop() {
    let _watchdog = watch!();
    for threads in [1, 2] {
        if case().is_none() {
            let mut command = child(module_path!(), "from_a_loop", "alone");
            ends_well(command.env("HEIST_NUM_THREADS", threads.to_string()));
        }
    }
    if case().is_none() {
        return;
    }
    let threads: usize = heist::current_num_threads();
    let parent = std::process::id();
    let forked = AtomicBool::new(false);
    let child = std::sync::Mutex::new(None);
    let sum = catch_unwind(AssertUnwindSafe(|| {
        let item = |i: u64| {
            if i == 30_000 && !forked.swap(true, Ordering::Relaxed) {
                *child.lock().unwrap() = fork();
            }
            i
        };
        (0..100_000_u64).into_par_iter().map(item).sum::<u64>()
    }));
    if std::process::id() != parent {
        // On the main thread here; a child on a worker has ended with its job.
        let is_well = match sum {
            Ok(sum) => sum == 4_999_950_000,
            Err(payload) => threads > 1 && text_of(&*payload).contains("fork()"),
        };
        end(i32::from(!is_well || catch_unwind(use_global_pool).is_err()));
    }
    assert_eq!(sum.unwrap(), 4_999_950_000);
    let status = child.into_inner().unwrap().expect("a child").status();
    // On a worker, the child ends with the named panic of a join whose half somebody has.
    assert!(status == 0 || (status == 101 && threads > 1), "{status}");
}

#[test]
fn exec_and_commands() {
    let _watchdog = watch!();
    alone("exec_and_commands", 2, || {
        let pool = pool(2);
        let run = || {
            let Some(child) = fork() else {
                let arguments = [c"/bin/sh".as_ptr(), c"-c".as_ptr(), c"exit 9".as_ptr(), std::ptr::null()];
                // SAFETY: a list of strings that ends with null.
                unsafe { libc::execv(arguments[0], arguments.as_ptr()) };
                end(1)
            };
            assert_eq!(child.status(), 9);
            let mut command = std::process::Command::new("/bin/sh");
            use std::os::unix::process::CommandExt;
            // SAFETY: it does nothing; with it, std forks instead of spawning.
            unsafe { command.args(["-c", "exit 8"]).pre_exec(|| Ok(())) };
            assert_eq!(command.status().unwrap().code(), Some(8));
        };
        run();
        pool.install(run);
        heist::join(run, run);
        block_on(pool.spawn_task(async move { run() })).unwrap();
        use_global_pool();
    });
}

/// A thread that belongs to a pool for good.
#[test]
fn the_pools_maker() {
    let _watchdog = watch!();
    alone("the_pools_maker", 2, || {
        let build = || ThreadPoolBuilder::new().num_threads(2).use_current_thread().build();
        let pool = build().unwrap();
        assert_eq!(pool.install(|| fib(10)), 55);
        in_child(|| {
            assert_eq!(heist::current_thread_index(), None);
            assert_named(&message_of(|| pool.install(|| ())));
            let own = build().unwrap();
            assert_eq!(heist::current_thread_index(), Some(0));
            assert_eq!(own.install(|| fib(10)), 55);
            in_child(use_global_pool);
            assert_eq!(own.install(|| fib(10)), 55);
        });
        // Halves of joins are pending: the thread cannot be another pool's as well.
        let (child, _) = pool.install(|| {
            heist::join(
                || {
                    let child = fork();
                    if child.is_none() {
                        end(i32::from(build().is_ok()));
                    }
                    child
                },
                || (),
            )
        });
        assert_eq!(child.unwrap().status(), 0);
        assert_eq!(pool.install(|| fib(10)), 55);
    });
}

#[cfg(feature = "tick")]
#[test]
fn ticks() {
    use heist::tick::{self, Error, Next};
    let _watchdog = watch!();
    alone("ticks", 2, || {
        let pool = pool(2);
        let period = Duration::from_millis(1);
        let tick = tick::every(period).spawn_on(&pool, |_| Next::Continue);
        in_child(|| {
            assert_eq!(tick::every(period).try_spawn_on(&pool, |_| Next::Stop).unwrap_err(), Error::Forked);
            assert_named(&Error::Forked.to_string());
            assert_named(&tick.submit(|| ()).unwrap_err().to_string());
            assert_eq!(tick.set_period(period), Err(Error::Forked));
            assert_eq!(tick.reschedule(), Err(Error::Forked));
            assert_named(&message_of(|| tick.stats()));
            assert_named(&message_of(|| tick.pause()));
            assert_named(&message_of(|| tick.wait()));
            assert!(!tick.cancel() && !tick.cancel_and_wait());
            drop(tick.clone());
            tick::every(period).spawn(|_| Next::Stop).wait().unwrap();
        });
        for (then, expected) in [(1, 0), (2, 101)] {
            let (send, receive) = std::sync::mpsc::channel();
            let forking = tick::every(period).spawn_on(&pool, move |_| {
                let Some(child) = fork() else {
                    use_global_pool();
                    assert_ne!(then, 2, "in the child, on purpose");
                    return Next::Continue;
                };
                send.send(child.status()).unwrap();
                Next::Stop
            });
            assert_eq!(receive.recv().unwrap(), expected);
            forking.wait().unwrap();
        }
        tick.cancel_and_wait();
    });
}

/// Another thread is in the middle of the very first use, which takes locks before there is any pool.
#[test]
fn beside_the_first_use() {
    let _watchdog = watch!();
    alone("beside_the_first_use", 2, || {
        let first = std::thread::spawn(|| assert_eq!(fib(10), 55));
        let mut children = Vec::new();
        while !first.is_finished() {
            match fork() {
                Some(child) => children.push(child),
                None => end(i32::from(catch_unwind(|| assert_eq!(fib(10), 55)).is_err())),
            }
        }
        assert!(children.into_iter().all(|child| child.status() == 0));
        first.join().unwrap();
    });
}

/// Other threads start and end all the time. std takes a lock of its own then, and a child that finds it taken can start no thread: it says so.
#[test]
fn beside_threads_that_start_and_end() {
    let _watchdog = watch!();
    alone("beside_threads_that_start_and_end", 2, || {
        use_global_pool();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|s| {
            for _ in 0..3 {
                s.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        std::thread::spawn(|| ()).join().unwrap();
                    }
                });
            }
            let use_heist = || match catch_unwind(|| fib(10)) {
                Ok(answer) => assert_eq!(answer, 55),
                Err(payload) => assert_named(&text_of(&*payload)),
            };
            let fork_one = |_| match fork() {
                Some(child) => child,
                None => end(i32::from(catch_unwind(use_heist).is_err())),
            };
            let children: Vec<_> = (0..200).map(fork_one).collect();
            assert!(children.into_iter().all(|child| child.status() == 0));
            is_over.store(true, Ordering::Relaxed);
        });
    });
}

/// Forks beside pools that are busy with everything, from wherever one can fork: any lock may be held at that moment.
#[test]
fn beside_busy_pools() {
    let _watchdog = watch!();
    if case().is_none() {
        // More of them: HEIST_FORKS=1000, and a longer HEIST_WATCHDOG_S.
        return drop(ends_well(
            child(module_path!(), "beside_busy_pools", "alone").env("HEIST_NUM_THREADS", "2"),
        ));
    }
    let forks = std::env::var("HEIST_FORKS").map_or(100, |forks| forks.parse().expect("a number"));
    let pool = pool(2);
    let is_over = std::sync::Arc::new(AtomicBool::new(false));
    let busy: Vec<_> = (0..2)
        .map(|i| {
            let is_over = is_over.clone();
            std::thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    match i {
                        0 => assert_eq!(fib(12), 144),
                        _ => block_on(async {
                            let tasks: Vec<_> =
                                (0..20).map(|_| spawn(sleep(Duration::from_micros(50)))).collect();
                            assert_eq!(spawn_blocking(|| 1).await.unwrap() + compute(|| 1).await, 2);
                            for task in tasks {
                                task.await.unwrap();
                            }
                            echo().await;
                        }),
                    }
                }
            })
        })
        .collect();
    let in_child = || {
        assert_eq!(fib(10), 55);
        block_on(async { spawn(sleep(Duration::from_micros(10))).await.unwrap() });
        assert_eq!(block_on(spawn_blocking(|| 3)).unwrap(), 3);
        block_on(echo());
    };
    let check = move |child: Option<Forked>| match child {
        Some(child) => assert_eq!(child.status(), 0),
        None => end(i32::from(catch_unwind(in_child).is_err())),
    };
    for i in 0..forks {
        match i % 5 {
            0 => check(fork()),
            1 => pool.install(|| check(fork())),
            2 => block_on(spawn(async move { check(fork()) })).unwrap(),
            kind => heist::scope(|_| {
                // As a guest or on a worker. The other half, or the scope's job, may be anywhere: the right answer, or the named error.
                let parent = std::process::id();
                let forked = || if kind == 3 { heist::join(fork, || fib(10)) } else { scoped() };
                check(match catch_unwind(AssertUnwindSafe(forked)) {
                    Ok((child, 55)) => child,
                    Err(payload) if parent != std::process::id() && text_of(&*payload).contains("fork()") => {
                        None
                    }
                    _ => end(1),
                });
            }),
        }
    }
    is_over.store(true, Ordering::Relaxed);
    busy.into_iter().for_each(|thread| thread.join().unwrap());
}

fn scoped() -> (Option<Forked>, u64) {
    let (mut sum, mut child) = (0, None);
    heist::scope(|s| {
        s.spawn(|_| sum = fib(10));
        child = Some(fork());
    });
    (child.flatten(), sum)
}

/// Jobs that other threads wait for return in the child: what they would report to lies on stacks that the child's threads use.
#[test]
fn nothing_is_written_to_the_stacks_of_others() {
    let _watchdog = watch!();
    alone("nothing_is_written_to_the_stacks_of_others", 2, || {
        let pool = pool(2);
        for round in 0..20 {
            // Half of them make new threads first, on the stacks of those that do not exist; half of them return at once.
            let job = move || match fork() {
                None => {
                    if round % 2 == 0 {
                        use_global_pool();
                    }
                    None
                }
                Some(child) => Some(child.status()),
            };
            // On a thread whose stack the child may use.
            std::thread::scope(|threads| {
                let caller = threads.spawn(|| {
                    assert_eq!(pool.install(job), Some(0));
                    assert!(
                        pool.broadcast(|c| if c.index() == 1 { job() } else { Some(0) })
                            .iter()
                            .all(|s| *s == Some(0))
                    );
                    let (begun, mut status) = (Count::new(1), None);
                    pool.scope(|s| {
                        s.spawn(|_| {
                            begun.knock();
                            if let Some(got) = job() {
                                status = Some(got);
                            }
                        });
                        // Another thread has it.
                        begun.gate.block();
                    });
                    assert_eq!(status, Some(0));
                    let begun = Count::new(1);
                    let second = || {
                        begun.knock();
                        job()
                    };
                    let (_, status) = pool.join(|| begun.gate.block(), second);
                    assert_eq!(status, Some(0));
                });
                caller.join().unwrap();
            });
        }
    });
}
