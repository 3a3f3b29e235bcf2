//! The rules by which tasks get their turns, and what else is said of tasks, timers and offloaded work.
//!
//! Where a rule is about turns, one worker counts them, and `max_threads(1)` keeps others from helping it out: then no stall of the
//! machine changes the count.

#![cfg(target_os = "linux")]

use crate::rig::byte;
use crate::rig::child;
use crate::rig::count::Count;
use crate::rig::gate::Gate;
use crate::rig::pool::pool;
use crate::rig::watchdog::watch;
use heist::task::JoinSet;
use heist::{ThreadPool, ThreadPoolBuilder, block_on, net, task, time};
use heist_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use heist_sync::clock::{coarse_ms, elapsed_since};
use std::future::poll_fn;
use std::io::Write;
use std::pin::{Pin, pin};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

/// A pool of `n` workers that nobody overtakes.
fn only(n: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(n).max_threads(n).build().unwrap()
}

fn flag() -> Arc<AtomicBool> {
    Arc::new(AtomicBool::new(false))
}

fn is_set(flag: &AtomicBool) -> bool {
    flag.load(Ordering::Acquire)
}

fn set(flag: &AtomicBool) {
    flag.store(true, Ordering::Release);
}

// Who is always ready gives way.

/// Steps that a task may take in one turn.
const BUDGET: usize = 128;
const STEPS: usize = 5 * BUDGET;

/// Counts the steps of a task, all of them ready, before its neighbour has a turn.
struct Steps {
    taken: Arc<AtomicUsize>,
    neighbour: task::JoinHandle<usize>,
}

impl Steps {
    /// Queues the neighbour.
    fn begin() -> Self {
        let taken = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&taken);
        Self { taken, neighbour: task::spawn(async move { seen.load(Ordering::Relaxed) }) }
    }

    fn take(&self) {
        self.taken.fetch_add(1, Ordering::Relaxed);
    }

    async fn end(self) {
        assert_eq!(self.taken.load(Ordering::Relaxed), STEPS);
        let before = self.neighbour.await.unwrap();
        assert!(before <= BUDGET, "the neighbour waited for {before} steps");
    }
}

#[test]
fn ready_timers_give_way() {
    let _watch = watch!();
    let pool = only(1);
    let ticks = pool.spawn_task(async {
        let long_ago = Instant::now() - Duration::from_secs(1);
        let mut interval = time::interval_at(long_ago, Duration::from_nanos(1));
        let steps = Steps::begin();
        for _ in 0..STEPS {
            interval.tick().await;
            steps.take();
        }
        steps.end().await;
    });
    block_on(ticks).unwrap();
    let sleeps = pool.spawn_task(async {
        let steps = Steps::begin();
        for _ in 0..STEPS {
            time::sleep(Duration::ZERO).await;
            steps.take();
        }
        steps.end().await;
    });
    block_on(sleeps).unwrap();
}

#[test]
fn ready_sockets_give_way() {
    let _watch = watch!();
    let pool = only(1);
    let reads = pool.spawn_task(async {
        let socket = net::UdpSocket::bind(("127.0.0.1", 0)).await.unwrap();
        socket.send_to(&[7], socket.local_addr().unwrap()).await.unwrap();
        let mut byte = [0];
        assert_eq!(socket.peek(&mut byte).await.unwrap(), 1);
        let steps = Steps::begin();
        for _ in 0..STEPS {
            assert_eq!(socket.peek(&mut byte).await.unwrap(), 1);
            steps.take();
        }
        steps.end().await;
    });
    block_on(reads).unwrap();
}

#[test]
fn ready_handles_give_way() {
    let _watch = watch!();
    let pool = only(1);
    let joins = pool.spawn_task(async {
        let handles: Vec<_> = (0..STEPS).map(|_| task::spawn(async {})).collect();
        while !handles.iter().all(|handle| handle.is_finished()) {
            task::yield_now().await;
        }
        let steps = Steps::begin();
        for handle in handles {
            handle.await.unwrap();
            steps.take();
        }
        steps.end().await;
    });
    block_on(joins).unwrap();
}

#[test]
fn ready_sets_give_way() {
    let _watch = watch!();
    let pool = only(1);
    let joins = pool.spawn_task(async {
        let (mut set, ran) = (JoinSet::new(), Arc::new(AtomicUsize::new(0)));
        for _ in 0..STEPS {
            let ran = Arc::clone(&ran);
            set.spawn(async move { _ = ran.fetch_add(1, Ordering::Relaxed) });
        }
        while ran.load(Ordering::Relaxed) < STEPS {
            task::yield_now().await;
        }
        let steps = Steps::begin();
        for _ in 0..STEPS {
            set.join_next().await.unwrap().unwrap();
            steps.take();
        }
        steps.end().await;
    });
    block_on(joins).unwrap();
}

// Nobody waits for ever behind those who are busy.

/// Two tasks that wake each other.
#[derive(Default)]
struct Pair {
    wakers: Mutex<[Option<Waker>; 2]>,
    turns: AtomicUsize,
}

impl Pair {
    /// One of the two, until both have had `most` turns.
    async fn half(self: Arc<Self>, me: usize, most: usize) {
        poll_fn(|cx| {
            let mut wakers = self.wakers.lock().unwrap();
            wakers[me] = Some(cx.waker().clone());
            let other = wakers[1 - me].take();
            drop(wakers);
            if let Some(other) = other {
                other.wake();
            }
            if self.turns.fetch_add(1, Ordering::Relaxed) < most { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
    }
}

#[test]
fn two_who_wake_each_other_do_not_starve_a_third() {
    let _watch = watch!();
    const TURNS: usize = 10_000;
    // Runs from the next place before the ring has its turn, and some for those who begin.
    const MOST: usize = 4 + 2;
    let pool = only(1);
    let worst = pool.spawn_task(async {
        let pair = Arc::new(Pair::default());
        let halves = [0, 1].map(|me| task::spawn(Arc::clone(&pair).half(me, TURNS)));
        let third = task::spawn(async move {
            let (mut worst, mut before) = (0, 0);
            while before < TURNS {
                task::yield_now().await;
                let now = pair.turns.load(Ordering::Relaxed);
                worst = worst.max(now - before);
                before = now;
            }
            worst
        });
        for half in halves {
            half.await.unwrap();
        }
        third.await.unwrap()
    });
    let worst = block_on(worst).unwrap();
    assert!(worst > 1, "the two did not run one after the other");
    assert!(worst <= MOST, "{worst} turns of the two between two of the third");
}

/// Turns of a busy worker between two looks at its sockets and timers, and some for who is queued meanwhile.
const LOOK_EVERY: usize = 61 + 4;

/// How many turns of the calling task it takes until `done`.
async fn turns_until(done: &AtomicBool) -> usize {
    let mut turns = 0;
    while !is_set(done) {
        task::yield_now().await;
        turns += 1;
    }
    turns
}

#[test]
fn a_busy_worker_looks_at_its_sockets() {
    let _watch = watch!();
    let pool = only(1);
    let busy = pool.spawn_task(async {
        let mut worst = 0;
        for phase in 0..200 {
            let (mut near, far) = byte::ends();
            let (asks, got) = (flag(), flag());
            let (asked, gets) = (Arc::clone(&asks), Arc::clone(&got));
            let reader = task::spawn(async move {
                set(&asks);
                assert_eq!(byte::read(far).await, 7);
                set(&gets);
            });
            turns_until(&asked).await;
            for _ in 0..phase {
                task::yield_now().await;
            }
            assert!(!is_set(&got));
            near.write_all(&[7]).unwrap();
            worst = worst.max(turns_until(&got).await);
            reader.await.unwrap();
        }
        worst
    });
    let worst = block_on(busy).unwrap();
    assert!(worst <= LOOK_EVERY, "a socket was ready for {worst} turns");
}

#[test]
fn a_busy_worker_looks_at_its_timers() {
    let _watch = watch!();
    // From there on it is due: what a tick rounds up, and a little.
    const TICK: Duration = Duration::from_micros(20);
    let pool = only(1);
    let busy = pool.spawn_task(async {
        let mut worst = 0;
        for n in 0..200 {
            let fired = flag();
            let fires = Arc::clone(&fired);
            let deadline = Instant::now() + Duration::from_micros(100 + 7 * n);
            let sleeper = task::spawn(async move {
                time::sleep_until(deadline).await;
                set(&fires);
            });
            while Instant::now() < deadline + TICK {
                task::yield_now().await;
            }
            worst = worst.max(turns_until(&fired).await);
            sleeper.await.unwrap();
        }
        worst
    });
    let worst = block_on(busy).unwrap();
    assert!(worst <= LOOK_EVERY, "a timer was due for {worst} turns");
}

/// How many turns of at least 10 us a busy worker takes, at most, before it gets to what `inject` has queued from outside. `inject`
/// is given what is to be set by it.
fn turns_before_injected(inject: impl Fn(&ThreadPool, Arc<AtomicBool>) + Send + 'static) -> usize {
    let pool = Arc::new(only(1));
    let (ask, asked) = channel();
    let (tell, told) = channel();
    let outside = {
        let pool = Arc::clone(&pool);
        std::thread::spawn(move || {
            for ran in asked {
                inject(&pool, ran);
                tell.send(()).unwrap();
            }
        })
    };
    let busy = pool.spawn_task(async move {
        let mut worst = 0;
        for phase in 0..200 {
            for _ in 0..phase {
                task::yield_now().await;
            }
            let ran = flag();
            ask.send(Arc::clone(&ran)).unwrap();
            // Within this turn, so that it is known when it was queued.
            told.recv().unwrap();
            let mut turns = 0;
            while !is_set(&ran) {
                let begun = Instant::now();
                while begun.elapsed() < Duration::from_micros(10) {
                    std::hint::spin_loop();
                }
                turns += 1;
                task::yield_now().await;
            }
            worst = worst.max(turns);
        }
        worst
    });
    let worst = block_on(busy).unwrap();
    outside.join().unwrap();
    worst
}

/// Two looks at the clock, four turns apart, and some: far from the 61 turns of those that are short.
const INJECTED_MOST: usize = 12;

#[test]
fn a_task_from_outside_waits_for_few_long_turns() {
    let _watch = watch!();
    let worst = turns_before_injected(|pool, ran| drop(pool.spawn_task(async move { set(&ran) })));
    assert!(worst <= INJECTED_MOST, "a task waited for {worst} turns");
}

#[test]
fn a_job_from_outside_waits_for_few_long_turns() {
    let _watch = watch!();
    let worst = turns_before_injected(|pool, ran| pool.spawn(move || set(&ran)));
    assert!(worst <= INJECTED_MOST, "a job waited for {worst} turns");
}

// Timers.

/// With ticks of a millisecond no two of these sleeps could end in the same one, whatever the machine does.
#[test]
fn short_sleeps_are_short() {
    let _watch = watch!();
    const SLEEPS: u32 = 10;
    const TRIES: usize = 500;
    let pool = pool(1);
    let best = pool.spawn_task(async {
        let mut best = Duration::MAX;
        for _ in 0..TRIES {
            let begun = Instant::now();
            for _ in 0..SLEEPS {
                time::sleep(Duration::from_micros(200)).await;
            }
            best = best.min(begun.elapsed());
            if best < SLEEPS * Duration::from_micros(500) {
                break;
            }
        }
        best
    });
    let best = block_on(best).unwrap();
    assert!(best >= SLEEPS * Duration::from_micros(200), "{SLEEPS} sleeps of 200 us took {best:?}");
    assert!(best < SLEEPS * Duration::from_micros(500), "{SLEEPS} sleeps of 200 us took {best:?}");
}

/// Sets a timer on a thread of its own: every thread before it is blocked until the last one has set its timer. True if that
/// thread was gone when the timer fired.
fn set_timers(
    more: usize,
    deadline: Instant,
    all_set: Gate,
    gone: Arc<Mutex<Vec<ThreadId>>>,
    fired: std::sync::mpsc::Sender<bool>,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        let mut sleep = pin!(time::sleep_until(deadline));
        poll_fn(|cx| {
            assert!(sleep.as_mut().poll(cx).is_pending());
            Poll::Ready(())
        })
        .await;
        let by = std::thread::current().id();
        if more > 0 {
            drop(task::spawn(set_timers(
                more - 1,
                deadline,
                all_set.clone(),
                Arc::clone(&gone),
                fired.clone(),
            )));
            all_set.block();
        } else {
            all_set.open();
        }
        sleep.await;
        assert!(Instant::now() >= deadline);
        let is_gone = gone.lock().unwrap().contains(&by);
        fired.send(is_gone).unwrap();
    })
}

/// Threads beyond the parallelism go after ten seconds; what they have set stays.
#[test]
fn a_timer_outlives_the_thread_that_set_it() {
    let _watch = watch!();
    const SPARES: usize = 4;
    // Later, if they have not gone by then.
    for seconds in [13, 17, 21] {
        let gone = Arc::new(Mutex::new(Vec::new()));
        let goes = Arc::clone(&gone);
        let pool = ThreadPoolBuilder::new()
            .num_threads(1)
            .exit_handler(move |_| goes.lock().unwrap().push(std::thread::current().id()))
            .build()
            .unwrap();
        let deadline = Instant::now() + Duration::from_secs(seconds);
        let (fires, fired) = channel();
        drop(pool.spawn_task(set_timers(SPARES, deadline, Gate::new(), gone, fires)));
        // Ends when each of the tasks has.
        let fired: Vec<bool> = fired.iter().collect();
        assert_eq!(fired.len(), SPARES + 1);
        if fired.contains(&true) {
            return;
        }
    }
    panic!("no thread has gone before its timer fired");
}

// Work that is done elsewhere.

/// In a process where nobody else makes blocking calls, so that it can count their threads.
#[test]
fn names_are_looked_up_where_a_thread_may_block() {
    let _watch = watch!();
    if child::case().is_none() {
        let name = "names_are_looked_up_where_a_thread_may_block";
        child::ends_well(&mut child::child(module_path!(), name, "1"));
        return;
    }
    assert_eq!(task::blocking_threads(), 0);
    let pool = only(1);
    let found = pool.spawn_task(async {
        let mut lookup = pin!(net::lookup("localhost:80"));
        // The worker is here, so the answer cannot have come through it.
        let first = poll_fn(|cx| Poll::Ready(lookup.as_mut().poll(cx).is_pending())).await;
        assert!(first, "looked up inside of the poll");
        lookup.await.unwrap()
    });
    let found = block_on(found).unwrap();
    assert!(found.iter().all(|addr| addr.port() == 80 && addr.ip().is_loopback()), "{found:?}");
    assert_eq!(task::blocking_threads(), 1);
}

/// The closure computes until its task has been polled again, and until a timer of the task's has fired.
#[test]
fn a_computation_does_not_hold_its_task() {
    let _watch = watch!();
    let pool = only(2);
    let computed = pool.spawn_task(async {
        let (begun, go) = (flag(), flag());
        let (begins, goes) = (Arc::clone(&begun), Arc::clone(&go));
        let mut compute = task::compute(move || {
            set(&begins);
            while !is_set(&goes) {
                std::hint::spin_loop();
            }
            42
        });
        turns_until(&begun).await;
        let limit = Duration::from_millis(2);
        assert!(time::timeout(limit, &mut compute).await.is_err(), "ended before it could");
        set(&go);
        compute.await
    });
    assert_eq!(block_on(computed).unwrap(), 42);
}

// What the dump tells.

/// Stamps are in milliseconds, and what is left of one is cut off.
const CUT_OFF: Duration = Duration::from_millis(1);
/// For how long a task is kept in each state.
const KEPT: Duration = Duration::from_millis(150);

/// Waits until the task is in the state, which it came to after `earliest` of the clock of the stamps, and checks its own, now and later. That clock is
/// as late as the kernel's tick, which nothing bounds.
fn check_since(id: task::Id, state: task::State, earliest: u32) {
    let since = || {
        let all = task::dump();
        all.iter().find(|info| info.id() == id && info.state() == state).map(|info| info.since())
    };
    let first = loop {
        if let Some(first) = since() {
            break first;
        }
        std::thread::yield_now();
    };
    let (seen, most) = (Instant::now(), elapsed_since(earliest));
    assert!(first <= most, "{state:?} for {first:?}, but not before {most:?} ago");
    std::thread::sleep(KEPT);
    let least = seen.elapsed().saturating_sub(CUT_OFF);
    let later = since().unwrap_or_else(|| panic!("not {state:?} any more"));
    assert!(later >= least, "{state:?} for {later:?}, but at least for {least:?}");
}

#[test]
fn the_dump_tells_since_when() {
    let _watch = watch!();
    let pool = only(1);
    let (wakes, begun, go) = (Gate::new(), Gate::new(), Gate::new());
    let (woken, begins, goes) = (wakes.clone(), begun.clone(), go.clone());
    let spawned = coarse_ms();
    let probe = pool.spawn_task(async move {
        woken.await;
        begins.open();
        // Unannounced, so that it is one turn.
        goes.block();
        std::future::pending::<()>().await;
    });
    check_since(probe.id(), task::State::Waiting, spawned);
    // Somebody else has the only worker, so it stays queued.
    let (blocked, unblocks) = (Gate::new(), Gate::new());
    let (blocks, unblocked) = (blocked.clone(), unblocks.clone());
    let blocker = pool.spawn_task(async move {
        blocks.open();
        unblocked.block();
    });
    blocked.block();
    let scheduled = coarse_ms();
    wakes.open();
    check_since(probe.id(), task::State::Scheduled, scheduled);
    let running = coarse_ms();
    unblocks.open();
    begun.block();
    check_since(probe.id(), task::State::Running, running);
    go.open();
    // Nothing can wake it, and it says for how long: since that turn began.
    check_since(probe.id(), task::State::Leaked, running);
    block_on(blocker).unwrap();
    probe.abort();
    assert!(block_on(probe).unwrap_err().is_cancelled());
}

// Channels and locks of other crates.

const MESSAGES: usize = 1_000;
const SUM: usize = MESSAGES * (MESSAGES - 1) / 2;

/// Two tasks and a foreign thread each run what `make` gives for them.
fn from_three_sides<F: Future<Output = ()> + Send + 'static>(pool: &ThreadPool, make: impl Fn() -> F) {
    let ended = Count::new(3);
    for _ in 0..2 {
        let (part, ended) = (make(), ended.clone());
        drop(pool.spawn_task(async move {
            part.await;
            ended.knock();
        }));
    }
    let (part, ends) = (make(), ended.clone());
    std::thread::spawn(move || {
        block_on(part);
        ends.knock();
    });
    ended.gate.block();
}

#[test]
fn channels_of_tokio() {
    use tokio::sync::{mpsc, oneshot};
    let _watch = watch!();
    let pool = pool(2);
    // Full most of the time, so that both sides wait.
    let (send, mut receive) = mpsc::channel::<(usize, oneshot::Sender<usize>)>(2);
    let server = pool.spawn_task(async move {
        let mut sum = 0;
        while let Some((n, answer)) = receive.recv().await {
            sum += n;
            answer.send(n + 1).unwrap();
        }
        sum
    });
    from_three_sides(&pool, || {
        let send = send.clone();
        async move {
            for n in 0..MESSAGES {
                let (answer, answered) = oneshot::channel();
                send.send((n, answer)).await.unwrap();
                assert_eq!(answered.await, Ok(n + 1));
            }
        }
    });
    drop(send);
    assert_eq!(block_on(server).unwrap(), 3 * SUM);
}

#[test]
fn locks_of_tokio() {
    use tokio::sync::{Mutex, Notify};
    let _watch = watch!();
    let pool = pool(2);
    let count = Arc::new(Mutex::new(0));
    from_three_sides(&pool, || {
        let count = Arc::clone(&count);
        async move {
            for _ in 0..MESSAGES {
                let mut count = count.lock().await;
                let before = *count;
                // Held across a wait.
                task::yield_now().await;
                *count = before + 1;
            }
        }
    });
    assert_eq!(*block_on(count.lock()), 3 * MESSAGES);

    // To and fro between a task and the other two.
    let bells = Arc::new([Notify::new(), Notify::new()]);
    let answers = {
        let bells = Arc::clone(&bells);
        pool.spawn_task(async move {
            for _ in 0..MESSAGES {
                bells[0].notified().await;
                bells[1].notify_one();
            }
        })
    };
    let asks = |bells: Arc<[Notify; 2]>| async move {
        for _ in 0..MESSAGES / 2 {
            bells[0].notify_one();
            bells[1].notified().await;
        }
    };
    block_on(pool.spawn_task(asks(Arc::clone(&bells)))).unwrap();
    block_on(asks(bells));
    block_on(answers).unwrap();
}

#[test]
fn channels_of_async_channel() {
    let _watch = watch!();
    let pool = pool(2);
    for (send, receive) in [async_channel::bounded(2), async_channel::unbounded()] {
        let receivers = [(); 2].map(|()| {
            let receive = receive.clone();
            pool.spawn_task(async move {
                let mut sum = 0;
                while let Ok(n) = receive.recv().await {
                    sum += n;
                }
                sum
            })
        });
        let outside = std::thread::spawn(move || {
            let mut sum = 0;
            while let Ok(n) = receive.recv_blocking() {
                sum += n;
            }
            sum
        });
        from_three_sides(&pool, || {
            let send = send.clone();
            async move {
                for n in 0..MESSAGES {
                    send.send(n).await.unwrap();
                }
            }
        });
        drop(send);
        let mut sum = outside.join().unwrap();
        for receiver in receivers {
            sum += block_on(receiver).unwrap();
        }
        assert_eq!(sum, 3 * SUM);
    }
}
