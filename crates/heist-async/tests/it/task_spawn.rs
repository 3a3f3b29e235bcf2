//! Tasks from the outside: spawning, waiting, waking, names, sets.

use crate::rig::watchdog::watch;
use heist_async::task::{self, JoinSet, State};
use heist_async::{block_on, block_on_in};
use heist_pool::raw::pool::{Config, Pool};
use heist_pool::raw::threads::ThreadStart;
use std::future::{Future, pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};

fn own_pool(threads: usize) -> Arc<Pool> {
    Config { parallelism: threads, ..Config::default() }
        .build(ThreadStart::spawn)
        .expect("threads can be started")
}

/// A future that waits for its waker to be used, and who uses it.
#[derive(Clone, Default)]
struct Bell(Arc<Mutex<(bool, Option<Waker>)>>);

impl Bell {
    fn ring(&self) {
        let mut bell = self.0.lock().unwrap();
        bell.0 = true;
        let waker = bell.1.take();
        drop(bell);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn is_awaited(&self) -> bool {
        self.0.lock().unwrap().1.is_some()
    }

    async fn heard(&self) {
        poll_fn(|cx| {
            let mut bell = self.0.lock().unwrap();
            if bell.0 {
                return Poll::Ready(());
            }
            bell.1 = Some(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

#[test]
fn a_million_spawned_by_one_and_joined() {
    let _watch = watch!();
    const N: usize = if cfg!(debug_assertions) { 100_000 } else { 1_000_000 };
    let sum = block_on(task::spawn(async {
        let handles: Vec<_> = (0..N).map(|i| task::spawn(async move { i })).collect();
        let mut sum = 0;
        for handle in handles {
            sum += handle.await.unwrap();
        }
        sum
    }))
    .unwrap();
    assert_eq!(sum, N * (N - 1) / 2);
}

#[test]
fn a_wake_from_outside_is_not_lost() {
    let _watch = watch!();
    for _ in 0..5_000 {
        let bell = Bell::default();
        let handle = task::spawn({
            let bell = bell.clone();
            async move { bell.heard().await }
        });
        bell.ring();
        block_on(handle).unwrap();
    }
}

#[test]
fn block_on_inside_of_a_task_and_a_job() {
    let _watch = watch!();
    let pool = own_pool(1);
    let inner = pool.clone();
    let handle = task::spawn_in(&pool, async move {
        // The only worker is here; it lends its index.
        block_on(task::spawn_in(&inner, async { 7 })).unwrap()
    });
    assert_eq!(block_on(handle).unwrap(), 7);
    let inner = pool.clone();
    assert_eq!(pool.install(move || block_on(task::spawn_in(&inner, async { 8 })).unwrap()), 8);
    pool.close();
}

#[test]
fn block_on_in_says_where_spawns_go() {
    let _watch = watch!();
    let pool = own_pool(1);
    let is_there = |pool: &Arc<Pool>| {
        let pool = pool.clone();
        move || {
            heist_pool::raw::worker::Worker::current().is_some_and(|local| Arc::ptr_eq(local.pool(), &pool))
        }
    };
    let (outer, inner) = (is_there(&pool), is_there(&pool));
    let both = block_on_in(&pool, async {
        assert!(!is_there(&pool)(), "the future itself stays here");
        let spawned =
            task::spawn(async move { (outer(), task::spawn(async move { inner() }).await.unwrap()) });
        spawned.await.unwrap()
    });
    assert_eq!(both, (true, true));
    // The other ways to start something, from the future and from a pinned one.
    let there = is_there(&pool);
    block_on_in(&pool, async {
        assert!(task::compute(there.clone()).await);
        let pinned = task::spawn_pinned(|| async move {
            assert!(!there());
            assert!(task::compute(there.clone()).await);
            let inner = there.clone();
            let pinned = task::spawn_pinned(|| async { task::spawn(async move { inner() }).await.unwrap() });
            assert!(pinned.unwrap().await.unwrap());
        });
        pinned.unwrap().await.unwrap();
    });
    // It is over.
    let after = is_there(&pool);
    assert!(!block_on(task::spawn(async move { after() })).unwrap());
    pool.close();
}

/// As a pinned future may that has outlived them.
#[test]
fn compute_in_a_pool_whose_threads_have_left() {
    let _watch = watch!();
    let pool = own_pool(1);
    pool.close();
    pool.threads().join();
    let there = pool.clone();
    let is_there = move || {
        heist_pool::raw::worker::Worker::current().is_some_and(|local| Arc::ptr_eq(local.pool(), &there))
    };
    assert!(block_on_in(&pool, async { task::compute(is_there).await }));
}

#[test]
fn ids_names_and_sites_are_shown() {
    let _watch = watch!();
    let bell = Bell::default();
    let site = line!() + 1;
    let handle = task::Builder::new().name("waits").spawn({
        let bell = bell.clone();
        async move {
            bell.heard().await;
            task::id()
        }
    });
    while !bell.is_awaited() {
        std::thread::yield_now();
    }
    let info = loop {
        let all = task::dump();
        let info = all.iter().find(|info| info.id() == handle.id()).expect("it exists").clone();
        if info.state() == State::Waiting {
            break info;
        }
    };
    assert_eq!((info.name(), info.wakers()), (Some("waits"), 1));
    assert_eq!((info.site().file(), info.site().line()), (file!(), site));
    assert!(info.to_string().contains("waiting"), "{info}");
    let id = handle.id();
    bell.ring();
    assert_eq!(block_on(handle).unwrap(), id);
    assert!(!task::dump().iter().any(|info| info.id() == id));
    assert_eq!(task::try_id(), None);
}

#[test]
fn a_task_that_nobody_can_wake_is_shown_as_leaked_and_can_be_aborted() {
    let _watch = watch!();
    let handle = task::spawn(pending::<()>());
    while !task::leaked().iter().any(|info| info.id() == handle.id()) {
        std::thread::yield_now();
    }
    handle.abort();
    assert!(block_on(handle).unwrap_err().is_cancelled());
}

#[test]
fn a_detached_task_that_nobody_can_wake_is_dropped() {
    let _watch = watch!();
    struct Tell(std::sync::mpsc::Sender<Option<String>>);
    impl Drop for Tell {
        fn drop(&mut self) {
            let _ = self.0.send(std::thread::current().name().map(str::to_owned));
        }
    }
    let (tx, rx) = std::sync::mpsc::channel();
    let me = std::thread::current().name().map(str::to_owned);
    // Its handle goes first, then its last waker.
    let bell = Bell::default();
    let tell = Tell(tx.clone());
    drop(task::spawn({
        let bell = Bell(bell.0.clone());
        async move {
            let _tell = tell;
            bell.heard().await;
        }
    }));
    while !bell.is_awaited() {
        std::thread::yield_now();
    }
    let waker = bell.0.lock().unwrap().1.take();
    drop(waker);
    assert_ne!(rx.recv().unwrap(), me, "dropped inside of the waker's drop");
    // Its last waker goes first, then its handle.
    let tell = Tell(tx);
    let handle = task::spawn(async move {
        let _tell = tell;
        pending::<()>().await;
    });
    while !task::leaked().iter().any(|info| info.id() == handle.id()) {
        std::thread::yield_now();
    }
    drop(handle);
    assert_ne!(rx.recv().unwrap(), me, "dropped inside of the handle's drop");
}

#[test]
fn yielding_lets_the_others_run() {
    let _watch = watch!();
    let pool = own_pool(1);
    let handle = task::spawn_in(&pool, async {
        let turns = Arc::new(AtomicUsize::new(0));
        let other = task::spawn({
            let turns = turns.clone();
            async move {
                for i in 1..=100 {
                    turns.store(i, Ordering::Relaxed);
                    task::yield_now().await;
                }
            }
        });
        // One worker: each turn of the other comes between two of ours.
        while turns.load(Ordering::Relaxed) < 100 {
            task::yield_now().await;
        }
        other.await.unwrap();
    });
    block_on(handle).unwrap();
    pool.close();
}

#[test]
fn a_task_that_is_always_ready_gives_way() {
    let _watch = watch!();
    const N: usize = 1_000;
    // Nobody can overtake its one worker.
    let config = Config { parallelism: 1, max_threads: 1, ..Config::default() };
    let pool = config.build(ThreadStart::spawn).expect("threads can be started");
    let greedy = task::spawn_in(&pool, async {
        let ended: Vec<_> = (0..N).map(|_| task::spawn(async {})).collect();
        while !ended.iter().all(|handle| handle.is_finished()) {
            task::yield_now().await;
        }
        let taken = Arc::new(AtomicUsize::new(0));
        let seen = taken.clone();
        let modest = task::spawn(async move { seen.load(Ordering::Relaxed) });
        for handle in ended {
            handle.await.unwrap();
            taken.fetch_add(1, Ordering::Relaxed);
        }
        modest.await.unwrap()
    });
    let taken = block_on(greedy).unwrap();
    assert!(taken < N / 2, "the other one ran after {taken} of {N}");
    pool.close();
}

#[test]
fn a_task_that_finds_many_results_of_compute_gives_way() {
    let _watch = watch!();
    const COUNT: usize = 1000;
    struct Tell(Mutex<mpsc::Sender<()>>);
    impl Wake for Tell {
        fn wake(self: Arc<Self>) {
            self.0.lock().unwrap().send(()).unwrap();
        }
    }
    let gate = Arc::new(Mutex::new(()));
    let shut = gate.lock().unwrap();
    let (send, woken) = mpsc::channel();
    let waker = Waker::from(Arc::new(Tell(Mutex::new(send))));
    let mut results: Vec<_> = (0..COUNT)
        .map(|_| {
            let gate = gate.clone();
            let mut result = task::compute(move || drop(gate.lock().unwrap()));
            assert!(Pin::new(&mut result).poll(&mut Context::from_waker(&waker)).is_pending());
            result
        })
        .collect();
    drop(shut);
    assert_eq!(woken.iter().take(COUNT).count(), COUNT);
    // All are ready now.
    let in_one_poll = task::spawn(async move {
        let take = |cx: &mut Context<'_>| {
            let before = results.len();
            results.retain_mut(|result| Pin::new(result).poll(cx).is_pending());
            Poll::Ready(before - results.len())
        };
        let taken = poll_fn(take).await;
        for result in results {
            result.await;
        }
        taken
    });
    let taken = block_on(in_one_poll).unwrap();
    assert!(0 < taken && taken < COUNT, "{taken}");
}

/// More of them than a poll has budget: what is not ready spends none of it.
#[test]
fn a_select_over_many_handles_reaches_the_last() {
    let _watch = watch!();
    const HANDLES: usize = 200;
    let selected = task::spawn(async {
        let mut handles: Vec<_> = (1..HANDLES).map(|_| task::spawn(pending::<usize>())).collect();
        handles.push(task::spawn(async { 7 }));
        let polls = AtomicUsize::new(0);
        let found = poll_fn(|cx| {
            assert!(polls.fetch_add(1, Ordering::Relaxed) < 1000, "it goes round and round");
            handles
                .iter_mut()
                .find_map(|handle| match Pin::new(handle).poll(cx) {
                    Poll::Ready(result) => Some(result.unwrap()),
                    Poll::Pending => None,
                })
                .map_or(Poll::Pending, Poll::Ready)
        })
        .await;
        handles.pop();
        handles.iter().for_each(task::JoinHandle::abort);
        found
    });
    assert_eq!(block_on(selected).unwrap(), 7);
}

#[test]
fn a_select_over_many_sets_reaches_the_last() {
    let _watch = watch!();
    const SETS: usize = 200;
    let selected = task::spawn(async {
        let mut sets: Vec<JoinSet<usize>> = (0..SETS).map(|_| JoinSet::new()).collect();
        for (number, set) in sets.iter_mut().enumerate() {
            if number == SETS - 1 {
                set.spawn(async { 7 });
            } else {
                set.spawn(pending());
            }
        }
        let polls = AtomicUsize::new(0);
        poll_fn(|cx| {
            assert!(polls.fetch_add(1, Ordering::Relaxed) < 1000, "it goes round and round");
            sets.iter_mut()
                .find_map(|set| match set.poll_join_next(cx) {
                    Poll::Ready(result) => Some(result.unwrap().unwrap()),
                    Poll::Pending => None,
                })
                .map_or(Poll::Pending, Poll::Ready)
        })
        .await
    });
    assert_eq!(block_on(selected).unwrap(), 7);
}

/// A task that finds one result after the other still lets others run.
#[test]
fn a_task_that_joins_many_that_have_ended_gives_way() {
    let _watch = watch!();
    let pool = own_pool(1);
    let turns = task::spawn_in(&pool, async {
        let mut set: JoinSet<()> = (0..1000).map(|_| async {}).collect();
        let handles: Vec<_> = (0..1000).map(|_| task::spawn(async {})).collect();
        while handles.iter().any(|handle| !handle.is_finished()) {
            task::yield_now().await;
        }
        let mut turns = 0;
        let mut joining = pin!(async {
            for handle in handles {
                handle.await.unwrap();
            }
            while set.join_next().await.is_some() {}
        });
        poll_fn(|cx| {
            turns += 1;
            joining.as_mut().poll(cx)
        })
        .await;
        turns
    });
    assert!(block_on(turns).unwrap() >= 10);
    pool.close();
}

/// What it starts goes where the call came from, tasks and timers alike.
#[test]
fn a_blocking_call_spawns_in_the_pool_that_it_was_made_in() {
    let _watch = watch!();
    let pool = own_pool(1);
    let there = pool.clone();
    let is_there = move || {
        heist_pool::raw::worker::Worker::current().is_some_and(|local| Arc::ptr_eq(local.pool(), &there))
    };
    let (inner, computed) = (is_there.clone(), is_there.clone());
    let call = task::spawn_in(&pool, async move {
        let called = task::spawn_blocking(move || {
            let spawned = task::spawn(async move { inner() });
            (block_on(spawned).unwrap(), block_on(task::compute(computed)))
        });
        called.await.unwrap()
    });
    assert_eq!(block_on(call).unwrap(), (true, true));
    // The thread is used again, and remembers nothing.
    let elsewhere = is_there.clone();
    let call = task::spawn_blocking(move || block_on(task::spawn(async move { elsewhere() })).unwrap());
    assert!(!block_on(call).unwrap());
    pool.close();
    pool.threads().join();
    drop(is_there);
    // The call's thread does not keep the pool.
    while Arc::strong_count(&pool) > 1 {
        std::thread::yield_now();
    }
}

/// Which closures block or compute, who made them, and whether they have begun.
#[test]
fn calls_are_shown() {
    let _watch = watch!();
    let pool = own_pool(1);
    let shown = |name: Option<&str>, line: u32| {
        let of = |call: &task::CallInfo| call.name() == name && call.site().line() == line;
        task::dump_calls().into_iter().find(|call| of(call) && call.site().file() == file!())
    };
    let (end, ended) = mpsc::channel::<()>();
    let (begin, begun) = mpsc::channel();
    let line = line!() + 1;
    let reading = task::Builder::new().name("reading").spawn_blocking(move || {
        begin.send(()).unwrap();
        ended.recv().unwrap_err();
    });
    begun.recv().unwrap();
    let call = shown(Some("reading"), line).expect("it runs");
    assert!(call.is_running());
    assert_eq!(call.kind(), task::CallKind::Blocking);
    let text = call.to_string();
    assert!(text.contains("blocking call running") && text.contains("(reading)"), "{text}");
    // A computation waits for the only worker, which is inside of a poll.
    let (computed, line) = block_on(task::spawn_in(&pool, async move {
        let line = line!() + 1;
        let computed = task::compute(|| 7);
        let all = task::dump_calls();
        let call =
            all.iter().find(|call| call.kind() == task::CallKind::Compute && call.site().line() == line);
        assert_eq!(call.expect("queued").site().file(), file!());
        (computed, line)
    }))
    .unwrap();
    assert_eq!(block_on(computed), 7);
    assert!(shown(None, line).is_none(), "who has ended is not shown");
    drop(end);
    block_on(reading).unwrap();
    assert!(shown(Some("reading"), call.site().line()).is_none());
    // One that panics goes like any other.
    let line = line!() + 1;
    block_on(task::spawn_blocking(|| panic!("as the test asks"))).unwrap_err();
    assert!(shown(None, line).is_none());
    pool.close();
}

#[test]
fn a_set_gives_results_as_they_come() {
    let _watch = watch!();
    block_on(async {
        let mut set = JoinSet::new();
        let bells: Vec<_> = (0..50).map(|_| Bell::default()).collect();
        for (i, bell) in bells.iter().cloned().enumerate() {
            set.spawn(async move {
                bell.heard().await;
                i
            });
        }
        assert!(set.try_join_next().is_none());
        for (i, bell) in bells.iter().enumerate().rev() {
            bell.ring();
            assert_eq!(set.join_next().await.unwrap().unwrap(), i);
        }
        assert!(set.join_next().await.is_none());
        for i in 0..10 {
            set.spawn(async move { i });
        }
        set.spawn(async { panic!("one of the set") });
        let mut panics = 0;
        while let Some(result) = set.join_next().await {
            panics += usize::from(result.is_err_and(|e| e.is_panic()));
        }
        assert_eq!(panics, 1);
    });
}

#[test]
fn a_dropped_set_aborts_and_a_detached_one_does_not() {
    let _watch = watch!();
    let alive = Arc::new(());
    let mut set = JoinSet::new();
    for _ in 0..10 {
        let alive = alive.clone();
        set.spawn(async move {
            let _alive = alive;
            Bell::default().heard().await;
        });
    }
    drop(set);
    while Arc::strong_count(&alive) > 1 {
        std::thread::yield_now();
    }
    let mut set = JoinSet::new();
    let (bell, done) = (Bell::default(), Bell::default());
    set.spawn({
        let (bell, done) = (bell.clone(), done.clone());
        async move {
            bell.heard().await;
            done.ring();
        }
    });
    set.detach_all();
    drop(set);
    bell.ring();
    block_on(done.heard());
}

#[test]
fn a_large_future_and_a_large_output() {
    let _watch = watch!();
    #[repr(align(64))]
    struct Aligned([u8; 64]);
    let big = [7_u8; 10_000];
    let handle = task::spawn(async move {
        let aligned = Aligned([3; 64]);
        task::yield_now().await;
        assert_eq!((&raw const aligned).addr() % 64, 0);
        (big, aligned)
    });
    let (big, aligned) = block_on(handle).unwrap();
    assert!(big.iter().all(|&b| b == 7) && aligned.0.iter().all(|&b| b == 3));
}

#[test]
fn scoped_tasks_tell_when_they_are_gone() {
    let _watch = watch!();
    struct Scope {
        left: AtomicUsize,
        panics: AtomicUsize,
        main: std::thread::Thread,
    }
    unsafe fn done(data: *const (), payload: Option<heist_pool::raw::job::Payload>) {
        // SAFETY: the scope waits for `left` to be 0, and the thread's handle is cloned before.
        let scope = unsafe { &*data.cast::<Scope>() };
        scope.panics.fetch_add(usize::from(payload.is_some()), Ordering::Relaxed);
        let main = scope.main.clone();
        scope.left.fetch_sub(1, Ordering::Release);
        main.unpark();
    }
    for _ in 0..1_000 {
        let scope =
            Scope { left: AtomicUsize::new(4), panics: AtomicUsize::new(0), main: std::thread::current() };
        let data = (&raw const scope).cast::<()>();
        let text = String::from("borrowed");
        let pool = heist_pool::raw::global::pool();
        let read = async { assert_eq!(text.len(), 8) };
        let panics = async { std::panic::resume_unwind(Box::new(text.len())) };
        let waits = async {
            let _text = &text;
            Bell::default().heard().await;
        };
        // SAFETY: we wait for them below.
        unsafe {
            drop(task::spawn_scoped_raw(pool, read, done, data));
            drop(task::spawn_scoped_raw(pool, panics, done, data));
            task::spawn_scoped_raw(pool, waits, done, data).abort();
            // Nobody can wake it, so it is cancelled by itself.
            drop(task::spawn_scoped_raw(pool, pending::<()>(), done, data));
        }
        while scope.left.load(Ordering::Acquire) > 0 {
            std::thread::park();
        }
        assert_eq!(scope.panics.load(Ordering::Relaxed), 1);
    }
}

#[test]
fn wakers_of_one_task_are_the_same() {
    let _watch = watch!();
    let handle = task::spawn(poll_fn(|cx| {
        let clone = cx.waker().clone();
        assert!(clone.will_wake(cx.waker()) && clone.clone().will_wake(&clone));
        Poll::Ready(())
    }));
    block_on(handle).unwrap();
}

#[test]
fn a_handle_may_change_its_awaiter() {
    let _watch = watch!();
    let bell = Bell::default();
    let handle = task::spawn({
        let bell = bell.clone();
        async move { bell.heard().await }
    });
    let mut handle = pin!(handle);
    let first = Arc::new(Flag::default());
    let second = Arc::new(Flag::default());
    for flag in [&first, &first, &second] {
        let waker = Waker::from(flag.clone());
        assert!(handle.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
    bell.ring();
    while second.0.load(Ordering::Acquire) == 0 {
        std::thread::yield_now();
    }
    assert_eq!(first.0.load(Ordering::Acquire), 0);
    assert!(handle.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
    let mut count = (Arc::strong_count(&first), Arc::strong_count(&second));
    // The waker is dropped by who wakes, who may still be at it.
    while count != (1, 1) {
        std::thread::yield_now();
        count = (Arc::strong_count(&first), Arc::strong_count(&second));
    }
}

#[derive(Default)]
struct Flag(AtomicUsize);

impl std::task::Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Release);
    }
}
