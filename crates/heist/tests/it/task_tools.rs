//! What is built on tasks: sets, groups, time limits, intervals, blocking calls, pinned tasks, computations, and what the dump
//! shows.

use crate::rig::count::Count;
use crate::rig::ends::Ends;
use crate::rig::gate::Gate;
use crate::rig::ledger::Ledger;
use crate::rig::scale::scaled;
use crate::rig::seed::{base_seed, generator};
use crate::rig::watchdog::watch;
use heist::task::JoinSet;
use heist::{TaskGroup, ThreadPool, ThreadPoolBuilder, block_on, task, time};
use heist_sync::atomic::{AtomicUsize, Ordering};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

const NAME: &str = "the pool's";

fn named(workers: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(workers).thread_name(|_| NAME.into()).build().unwrap()
}

fn thread() -> String {
    std::thread::current().name().unwrap_or_default().to_owned()
}

/// A panic without the hook's message.
fn throw(what: &'static str) -> ! {
    resume_unwind(Box::new(what))
}

#[test]
fn a_set_gives_each_result_once() {
    let _watch = watch!();
    let seed = base_seed("a_set_gives_each_result_once");
    let pool = named(3);
    for round in 0..scaled(400) as u64 {
        let mut random = generator(seed, round);
        let tasks = 1 + random.below(800);
        let (seen, ends) = (Ledger::new(tasks), Ends::new(tasks));
        pool.block_on(async {
            let mut set = JoinSet::new();
            let mut fates = Vec::new();
            let mut ids = std::collections::HashMap::new();
            let mut next = 0;
            while next < tasks || !set.is_empty() {
                while next < tasks && random.below(4) > 0 {
                    let (id, fate, life) = (next, random.below(4), ends.life(next));
                    let abort = set.spawn(async move {
                        let _life = life;
                        match fate {
                            0 => {}
                            1 => task::yield_now().await,
                            2 => throw("fate"),
                            _ => std::future::pending().await,
                        }
                        id
                    });
                    ids.insert(abort.id(), id);
                    fates.push(fate);
                    if fate == 3 {
                        abort.abort();
                    }
                    next += 1;
                }
                match set.join_next().await {
                    None => {}
                    Some(Ok(id)) => {
                        assert!(fates[id] < 2);
                        seen.mark(id);
                    }
                    Some(Err(error)) => {
                        let id = ids[&error.id()];
                        assert_eq!(fates[id], if error.is_panic() { 2 } else { 3 });
                        seen.mark(id);
                    }
                }
            }
        });
        seen.check_all_once(&format!("seed {seed}, round {round}"));
        ends.wait();
    }
}

/// One error, and the others are gone although nobody waits for the group.
#[test]
fn the_first_error_cancels_at_once() {
    let _watch = watch!();
    let pool = named(2);
    for round in 0..50 {
        let ends = Ends::new(40);
        let (group, fail) = pool.block_on(async {
            let mut group = TaskGroup::new();
            let fail = Gate::new();
            for id in 0..40 {
                let (life, fail) = (ends.life(id), fail.clone());
                let task = async move {
                    let _life = life;
                    if id == round % 40 {
                        fail.await;
                        return Err("the first");
                    }
                    std::future::pending().await
                };
                group.spawn(task).await;
            }
            (group, fail)
        });
        assert!(!group.has_failed());
        fail.open();
        ends.wait();
        assert!(group.has_failed());
        assert_eq!(block_on(group.wait()), Err("the first"));
    }
}

/// What comes after the failure never begins: not even on a worker that is just looking for something to do.
#[test]
fn a_failed_group_starts_nothing() {
    let _watch = watch!();
    let (pool, late) = (named(3), scaled(200_000));
    let (began, ends) = (Arc::new(AtomicUsize::new(0)), Ends::new(late));
    let (begin, lives) = (Arc::clone(&began), Arc::clone(&ends));
    let failed = pool.spawn_task(async move {
        let mut group = TaskGroup::new();
        group.spawn(async { Err("failed") }).await;
        while !group.has_failed() {
            task::yield_now().await;
        }
        for id in 0..late {
            let (began, life) = (Arc::clone(&begin), lives.life(id));
            let task = async move {
                began.fetch_add(1, Ordering::Relaxed);
                drop(life);
                Ok(())
            };
            group.spawn(task).await;
        }
        group.wait().await
    });
    assert_eq!(block_on(failed).unwrap(), Err("failed"));
    ends.wait();
    assert_eq!(began.load(Ordering::Relaxed), 0, "of {late} tasks, so many have begun after the failure");
}

#[test]
fn a_limit_is_kept() {
    let _watch = watch!();
    for (workers, limit) in [(1, 1), (2, 3), (4, 8)] {
        let pool = named(workers);
        let (now, most, ran) = <(Arc<AtomicUsize>, Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
        let result: Result<(), ()> = pool.block_on(async {
            let mut group = TaskGroup::new().limit(limit);
            for n in 0..500 {
                let (now, most, ran) = (Arc::clone(&now), Arc::clone(&most), Arc::clone(&ran));
                let task = async move {
                    most.fetch_max(now.fetch_add(1, Ordering::AcqRel) + 1, Ordering::AcqRel);
                    // The first ones wait for each other: as many as the limit do run at a time.
                    while most.load(Ordering::Acquire) < limit {
                        task::yield_now().await;
                    }
                    for _ in 0..n % 5 {
                        task::yield_now().await;
                    }
                    now.fetch_sub(1, Ordering::AcqRel);
                    ran.fetch_add(1, Ordering::AcqRel);
                    Ok(())
                };
                group.spawn(task).await;
            }
            group.wait().await
        });
        assert_eq!(result, Ok(()));
        assert_eq!(ran.load(Ordering::Acquire), 500);
        let most = most.load(Ordering::Acquire);
        assert_eq!(most, limit);
    }
}

#[test]
fn a_panic_in_a_group_goes_on_when_the_others_have_ended() {
    let _watch = watch!();
    let pool = named(2);
    for by_spawn in [false, true] {
        let ends = Ends::new(30);
        let caught = catch_unwind(AssertUnwindSafe(|| {
            pool.block_on(async {
                let mut group = TaskGroup::<()>::new().limit(if by_spawn { 30 } else { 100 });
                for id in 0..30 {
                    let life = ends.life(id);
                    let task = async move {
                        let _life = life;
                        if id == 3 {
                            throw("three");
                        }
                        std::future::pending().await
                    };
                    group.spawn(task).await;
                }
                if by_spawn {
                    group.spawn(async { Ok(()) }).await;
                }
                group.wait().await
            })
        }));
        assert_eq!(caught.unwrap_err().downcast_ref(), Some(&"three"));
        // All of them were gone before it came here; this does not wait for anybody.
        ends.wait();
    }
}

#[test]
fn a_dropped_group_cancels() {
    let _watch = watch!();
    let pool = named(2);
    let ends = Ends::new(100);
    pool.block_on(async {
        let mut group = TaskGroup::<()>::new();
        for id in 0..100 {
            let life = ends.life(id);
            let endless = async move {
                let _life = life;
                loop {
                    task::yield_now().await;
                }
            };
            group.spawn(endless).await;
        }
    });
    ends.wait();
}

#[test]
fn time_limits() {
    let _watch = watch!();
    let pool = named(2);
    let ends = Ends::new(1_000);
    let tasks: Vec<_> = (0..1_000)
        .map(|id| {
            let life = ends.life(id);
            pool.spawn_task(async move {
                let begin = Instant::now();
                let limit = Duration::from_millis(1 + id as u64 % 7);
                let endless = async move {
                    let _life = life;
                    std::future::pending::<()>().await;
                };
                time::timeout(limit, endless).await.unwrap_err();
                assert!(begin.elapsed() >= limit, "too early");
                // What is ready in time is not cut off, however short that is.
                assert_eq!(time::timeout(Duration::ZERO, async { id }).await.unwrap(), id);
                let nested = time::timeout(
                    limit,
                    time::timeout(Duration::from_secs(3600), std::future::pending::<()>()),
                );
                nested.await.unwrap_err();
            })
        })
        .collect();
    for task in tasks {
        block_on(task).unwrap();
    }
    ends.wait();
}

#[test]
fn intervals() {
    let _watch = watch!();
    let pool = named(2);
    let ends = Ends::new(20);
    let tasks: Vec<_> = (0..20)
        .map(|n| {
            let life = ends.life(n);
            pool.spawn_task(async move {
                let (begin, period) = (Instant::now(), Duration::from_micros(200 * (1 + n as u64)));
                let mut interval = time::interval(period);
                for tick in 0..20 {
                    interval.tick().await;
                    assert!(
                        begin.elapsed() >= period * tick,
                        "tick {tick} of every {period:?} was too early"
                    );
                }
                life.end();
            })
        })
        .collect();
    for task in tasks {
        block_on(task).unwrap();
    }
    ends.wait();
    ends.check_all_ended("intervals");
}

/// As many calls block as there can be threads; those behind them are aborted, or run later.
#[test]
fn blocking_calls_beyond_all_threads() {
    const MOST: usize = 512;
    const MORE: usize = 100;
    let _watch = watch!();
    let ends = Ends::new(MOST + MORE);
    let (begun, go) = (Count::new(MOST), Gate::new());
    let mut handles: Vec<_> = (0..MOST + MORE)
        .map(|id| {
            let (life, begun, go) = (ends.life(id), begun.clone(), go.clone());
            task::spawn_blocking(move || {
                if id < MOST {
                    begun.knock();
                    go.block();
                }
                life.end();
                id
            })
        })
        .collect();
    begun.gate.block();
    assert_eq!(task::blocking_threads(), MOST);
    // Every second one of those that have not begun.
    let aborted: Vec<_> = (MOST..MOST + MORE).filter(|id| id % 2 == 0).collect();
    for &id in &aborted {
        handles[id].abort();
    }
    for &id in aborted.iter().rev() {
        let handle = handles.remove(id);
        assert!(block_on(handle).unwrap_err().is_cancelled());
    }
    go.open();
    let mut ran = 0;
    for handle in handles {
        let id = block_on(handle).unwrap();
        assert!(id < MOST || id % 2 == 1);
        ran += 1;
    }
    assert_eq!(ran, MOST + MORE / 2);
    // Also of those that were aborted: dropped, once, without having run.
    ends.wait();
    assert!(task::blocking_threads() <= MOST);
}

#[test]
fn a_blocking_call_panics_or_is_aborted_too_late() {
    let _watch = watch!();
    let error = block_on(task::spawn_blocking(|| -> () { throw("blocked") })).unwrap_err();
    assert_eq!(error.into_panic().downcast_ref(), Some(&"blocked"));
    let (begun, go, ended) = (Gate::new(), Gate::new(), Gate::new());
    let (begins, goes, ends) = (begun.clone(), go.clone(), ended.clone());
    let call = task::spawn_blocking(move || {
        begins.open();
        goes.block();
        ends.open();
    });
    begun.block();
    call.abort();
    assert!(block_on(call).unwrap_err().is_cancelled(), "nobody waits for it any more");
    go.open();
    // It runs to its end all the same.
    ended.block();
}

/// Sends the thread that drops it.
struct Tells(Sender<ThreadId>);

impl Drop for Tells {
    fn drop(&mut self) {
        let _ = self.0.send(std::thread::current().id());
    }
}

#[test]
fn a_pinned_task_stays_on_its_thread() {
    let _watch = watch!();
    let pool = named(2);
    let pinned = pool.install(|| {
        task::spawn_pinned(|| async {
            let home = std::thread::current().id();
            let local = Rc::new(home);
            assert_eq!(thread(), "heist-pinned");
            for n in 0..100 {
                match n % 4 {
                    0 => task::yield_now().await,
                    1 => time::sleep(Duration::from_micros(50)).await,
                    2 => {
                        // Its children are ordinary tasks of the pool from which it was spawned.
                        assert_eq!(task::spawn(async { thread() }).await.unwrap(), NAME);
                    }
                    _ => assert_eq!(task::spawn_blocking(|| 5).await.unwrap(), 5),
                }
                assert_eq!(*local, std::thread::current().id());
            }
            thread()
        })
    });
    assert_eq!(block_on(pinned.unwrap()).unwrap(), "heist-pinned");
    let error = block_on(task::spawn_pinned(|| async { throw("pinned") }).unwrap()).unwrap_err();
    assert_eq!(error.into_panic().downcast_ref(), Some(&"pinned"));
}

#[test]
fn an_aborted_pinned_task_goes_on_its_own_thread() {
    let _watch = watch!();
    for _ in 0..50 {
        let (tell, told) = channel();
        let (home, is_home) = channel();
        let pinned = task::spawn_pinned(move || async move {
            let _tells = Tells(tell);
            let _not_send = Rc::new(());
            home.send(std::thread::current().id()).unwrap();
            std::future::pending::<()>().await;
        })
        .unwrap();
        let home = is_home.recv().unwrap();
        pinned.abort();
        assert!(block_on(pinned).unwrap_err().is_cancelled());
        assert_eq!(told.recv().unwrap(), home);
    }
}

#[test]
fn computations() {
    let _watch = watch!();
    for workers in [1, 2, 4] {
        let pool = named(workers);
        // The task's worker is free meanwhile: on a pool of one, the computation waits for a task.
        let gate = Gate::new();
        let opens = gate.clone();
        let task = pool.spawn_task(async move {
            let child = task::spawn(async move { opens.open() });
            let (sum, by) = task::compute(move || {
                block_on(gate);
                (heist::join(|| 20, || 22), thread())
            })
            .await;
            child.await.unwrap();
            assert_eq!(by, NAME);
            sum.0 + sum.1
        });
        assert_eq!(block_on(task).unwrap(), 42);
        let panics = pool.spawn_task(async { task::compute(|| -> () { throw("computed") }).await });
        assert_eq!(block_on(panics).unwrap_err().into_panic().downcast_ref(), Some(&"computed"));
        // Nobody waits for it: it runs.
        let ran = Gate::new();
        let runs = ran.clone();
        block_on(pool.spawn_task(async move { drop(task::compute(move || runs.open())) })).unwrap();
        ran.block();
    }
}

/// Waits until the dump says so: a task changes its state a moment after others can see what it has done.
fn until_state(id: task::Id, wanted: task::State) -> task::Info {
    loop {
        let all = task::dump();
        match all.into_iter().find(|task| task.id() == id) {
            Some(info) if info.state() == wanted => return info,
            _ => std::thread::yield_now(),
        }
    }
}

#[test]
fn the_dump_tells_states() {
    let _watch = watch!();
    // Nobody can overtake here, so that a task stays queued.
    let pool = ThreadPoolBuilder::new().num_threads(1).max_threads(1).build().unwrap();
    let (in_turn, go) = (Gate::new(), Gate::new());
    let (begins, goes) = (in_turn.clone(), go.clone());
    let (waits, never) = (Gate::new(), Gate::new());
    let site = line!() + 1;
    let running = pool.spawn_task(async move {
        begins.open();
        goes.block();
        7
    });
    in_turn.block();
    let waiting = pool.spawn_task(waits.clone());
    let leaked = pool.spawn_task(std::future::pending::<()>());
    let (send, receive) = channel();
    // Inside of the pool, so that the task is the pool's.
    pool.block_on(async { send.send(task::Builder::new().name("named").spawn(never)).unwrap() });
    let named = receive.recv().unwrap();
    let info = until_state(running.id(), task::State::Running);
    assert_eq!((info.name(), info.site().file(), info.site().line()), (None, file!(), site));
    until_state(waiting.id(), task::State::Scheduled);
    until_state(leaked.id(), task::State::Scheduled);
    assert!(!task::leaked().iter().any(|task| task.id() == leaked.id()));
    go.open();
    assert_eq!(until_state(waiting.id(), task::State::Waiting).wakers(), 1);
    assert_eq!(until_state(leaked.id(), task::State::Leaked).wakers(), 0);
    assert!(task::leaked().iter().any(|task| task.id() == leaked.id()));
    assert_eq!(until_state(named.id(), task::State::Waiting).name(), Some("named"));
    until_state(running.id(), task::State::Done);
    assert_eq!(block_on(running).unwrap(), 7);
    waits.open();
    block_on(waiting).unwrap();
    leaked.abort();
    assert!(block_on(leaked).unwrap_err().is_cancelled());
    let (id, text) = (named.id(), until_state(named.id(), task::State::Waiting).to_string());
    for part in ["named", "waiting", file!(), &id.to_string()] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    named.abort();
    assert!(block_on(named).unwrap_err().is_cancelled());
    // Its worker lets go of it a moment after others can see its end.
    while task::dump().iter().any(|task| task.id() == id) {
        std::thread::yield_now();
    }
}
