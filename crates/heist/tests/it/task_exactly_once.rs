//! Promise 1 for tasks: every task that was accepted runs to its end exactly once, every future is dropped exactly once, and no
//! wake is lost. Tasks are spawned from tasks, jobs and outside, and woken by tasks, jobs and outside.
//!
//! Public bugs of this kind: tokio #2387 (slots of the run queue overwritten while they are stolen), tokio #8372 (work from outside
//! never runs).
//!
//! `HEIST_STRESS=10` runs ten times as many tasks; `HEIST_SEED` repeats a run.

use crate::rig::ends::Ends;
use crate::rig::fenced;
use crate::rig::gate::Gate;
use crate::rig::pool::pool;
use crate::rig::scale::scaled;
use crate::rig::seed::{base_seed, generator};
use crate::rig::watchdog::watch;
use heist::{ThreadPool, task};
use heist_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use heist_sync::rand::Random;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context, Poll, Waker};

/// From fewer to many more workers than cores.
const SIZES: [usize; 6] = [1, 2, 3, 4, 8, 16];

/// What a thread outside of the pool is asked to do.
enum Request {
    /// With the flag that the sleeper looks at.
    Wake(Waker, Arc<AtomicBool>),
    Spawn(SpawnIn),
}

type SpawnIn = Box<dyn FnOnce(&ThreadPool) + Send>;

/// Everything that the tasks of one round share.
struct World {
    ends: Arc<Ends>,
    turns: AtomicUsize,
    outside: Sender<Request>,
    /// Not if the pool's handle is gone.
    may_spawn_outside: bool,
    seed: u64,
}

/// Runs the requests: in bursts, so that rings overflow.
fn run_requests(requests: &Receiver<Request>, pool: Option<&ThreadPool>, mut random: Random) {
    let mut burst = Vec::new();
    while let Ok(first) = requests.recv() {
        burst.push(first);
        burst.extend(requests.try_iter().take(random.below(1000)));
        for request in burst.drain(..) {
            match request {
                Request::Wake(waker, flag) => wake(&waker, &flag),
                Request::Spawn(spawn) => spawn(pool.expect("asked for only if there is one")),
            }
        }
    }
}

fn wake(waker: &Waker, flag: &AtomicBool) {
    flag.store(true, Ordering::Release);
    waker.wake_by_ref();
}

/// Sleeps until whoever got its waker uses it. A wake that is lost hangs the test.
struct Nap<'a> {
    world: &'a World,
    by: usize,
    woken: Option<Arc<AtomicBool>>,
}

impl<'a> Nap<'a> {
    fn new(world: &'a World, by: usize) -> Self {
        Self { world, by, woken: None }
    }
}

impl Future for Nap<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.world.turns.fetch_add(1, Ordering::Relaxed);
        if let Some(flag) = &self.woken {
            return if flag.load(Ordering::Acquire) { Poll::Ready(()) } else { Poll::Pending };
        }
        let flag = Arc::new(AtomicBool::new(false));
        self.woken = Some(Arc::clone(&flag));
        let waker = cx.waker().clone();
        match self.by {
            0 => self.world.outside.send(Request::Wake(waker, flag)).expect("somebody listens"),
            1 => heist::spawn(move || wake(&waker, &flag)),
            2 => drop(task::spawn(async move { wake(&waker, &flag) })),
            3 => {
                // Twice, from two sides, in the middle of the poll.
                let (again, flag_again) = (waker.clone(), Arc::clone(&flag));
                heist::spawn(move || wake(&again, &flag_again));
                wake(&waker, &flag);
            }
            // By the last waker, as it goes.
            _ => {
                flag.store(true, Ordering::Release);
                waker.wake();
            }
        }
        Poll::Pending
    }
}

type Boxed = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The task `first`, which sees to it that the tasks up to `end` are spawned by somebody.
fn family(world: Arc<World>, first: usize, end: usize) -> Boxed {
    Box::pin(async move {
        let life = world.ends.life(first);
        let mut random = generator(world.seed, first as u64);
        for _ in 0..random.below(3) {
            Nap::new(&world, random.below(5)).await;
        }
        let mut children = Vec::new();
        let mut next = first + 1;
        while next < end {
            // Mostly halves, now and then many little ones, so that rings overflow.
            let size = if random.below(16) == 0 { 1 } else { (end - next).div_ceil(2) };
            let child = family(Arc::clone(&world), next, next + size);
            next += size;
            match random.below(6) {
                0 => heist::spawn(move || drop(task::spawn(child))),
                1 if world.may_spawn_outside => {
                    let spawn: SpawnIn = Box::new(move |pool| drop(pool.spawn_task(child)));
                    world.outside.send(Request::Spawn(spawn)).expect("somebody listens");
                }
                2 => drop(task::spawn(child)),
                _ => children.push(task::spawn(child)),
            }
            if random.below(8) == 0 {
                world.turns.fetch_add(1, Ordering::Relaxed);
                task::yield_now().await;
            }
        }
        if random.below(2) == 0 {
            for child in children {
                child.await.expect("nobody aborts or panics");
            }
        }
        world.turns.fetch_add(1, Ordering::Relaxed);
        life.end();
    })
}

/// One round of `tasks` tasks. Returns how many turns it took.
fn round(workers: usize, tasks: usize, seed: u64, drop_the_pool: bool) -> usize {
    let (outside, requests) = channel();
    let ends = Ends::new(tasks);
    let world = Arc::new(World {
        ends: Arc::clone(&ends),
        turns: AtomicUsize::new(0),
        outside,
        may_spawn_outside: !drop_the_pool,
        seed,
    });
    let pool = pool(workers);
    drop(pool.spawn_task(family(Arc::clone(&world), 0, tasks)));
    let random = generator(seed, u64::MAX);
    let pool = if drop_the_pool {
        drop(pool);
        std::thread::spawn(move || run_requests(&requests, None, random));
        None
    } else {
        let pool = Arc::new(pool);
        let for_requests = Arc::clone(&pool);
        std::thread::spawn(move || run_requests(&requests, Some(&for_requests), random));
        Some(pool)
    };
    ends.wait();
    ends.check_all_ended(&format!("seed {seed}, {workers} workers, pool dropped: {drop_the_pool}"));
    drop(pool);
    world.turns.load(Ordering::Relaxed)
}

fn rounds(name: &str, tasks_wanted: usize, drop_the_pool: bool) {
    let seed = base_seed(name);
    let share = tasks_wanted / SIZES.len();
    let mut turns = 0;
    for (i, workers) in SIZES.into_iter().enumerate() {
        let mut random = generator(seed, i as u64);
        let mut left = share;
        while left > 0 {
            let most = if drop_the_pool { 2_000 } else { 50_000 };
            let tasks = (1 + random.below(most)).min(left);
            turns += round(workers, tasks, seed.wrapping_add(left as u64), drop_the_pool);
            left -= tasks;
        }
    }
    println!("{name}: {turns} turns");
}

#[test]
fn spawned_and_woken_from_everywhere() {
    let _watch = watch!();
    rounds("spawned_and_woken_from_everywhere", scaled(3_000_000), false);
}

#[test]
fn pools_dropped_while_tasks_run() {
    let _watch = watch!();
    rounds("pools_dropped_while_tasks_run", scaled(600_000), true);
}

/// Many more tasks become ready at once than a ring holds: by spawning and by waking, on a worker and outside.
#[test]
fn rings_overflow() {
    const TASKS: usize = 2_000;
    let _watch = watch!();
    for workers in SIZES {
        let pool = pool(workers);
        for round in 0..scaled(60) {
            let ends = Ends::new(TASKS);
            let (ready, open) = (Arc::new(AtomicUsize::new(0)), Gate::new());
            let all_ready = Gate::new();
            let spawn = {
                let (ends, ready, open, all_ready) = (ends.clone(), ready, open.clone(), all_ready.clone());
                async move {
                    for id in 0..TASKS {
                        let (life, ready, open) = (ends.life(id), ready.clone(), open.clone());
                        let all_ready = all_ready.clone();
                        drop(task::spawn(async move {
                            let mut open = pin!(open);
                            // Registered before it counts, so that all of them are woken in one go.
                            let polled = std::future::poll_fn(|cx| Poll::Ready(open.as_mut().poll(cx))).await;
                            assert!(polled.is_pending(), "nobody has opened yet");
                            if ready.fetch_add(1, Ordering::Relaxed) + 1 == TASKS {
                                all_ready.open();
                            }
                            open.await;
                            life.end();
                        }));
                    }
                }
            };
            drop(pool.spawn_task(spawn));
            all_ready.block();
            match round % 3 {
                0 => open.open(),
                1 => drop(pool.spawn_task(async move { open.open() })),
                _ => pool.spawn(move || open.open()),
            }
            ends.wait();
            ends.check_all_ended(&format!("{workers} workers, round {round}"));
        }
    }
}

/// A task that gives way gets exactly one turn for each time.
#[test]
fn yields_are_turns() {
    const TASKS: usize = 700;
    let _watch = watch!();
    let yields = scaled(4_000);
    for workers in SIZES {
        let pool = pool(workers);
        let handles: Vec<_> = (0..TASKS)
            .map(|id| {
                let times = yields / (1 + id % 50);
                let mut turns = 0;
                let mut gives_way = Box::pin(async move {
                    for _ in 0..times {
                        task::yield_now().await;
                    }
                });
                let counted = std::future::poll_fn(move |cx| {
                    turns += 1;
                    gives_way.as_mut().poll(cx).map(|()| (turns, times + 1))
                });
                pool.spawn_task(counted)
            })
            .collect();
        for handle in handles {
            let (turns, expected) = pool.block_on(handle).expect("nobody aborts or panics");
            assert_eq!(turns, expected, "{workers} workers");
        }
    }
}

#[test]
fn in_fenced_mode() {
    let _watch = watch!();
    fenced::rerun_fenced(module_path!(), &["everywhere", "dropped_while", "overflow", "yields"]);
}
