//! `thread_name` is the program's code: it may take its time, and use the pool that it names the threads of.

use heist::ThreadPoolBuilder;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;

/// The second thread's name waits for a job, which only a spare for the first thread can run; and that one needs a name, too.
#[test]
fn a_name_may_wait_for_a_thread_that_needs_a_name() {
    let own_name = || std::thread::current().name().map(String::from);
    let (asked, wait_asked) = channel();
    let (ran, wait_ran) = channel();
    let (started, wait_started) = channel();
    let wait_asked = Mutex::new(wait_asked);
    let is_first = AtomicBool::new(true);
    let start = move |_| {
        if !is_first.swap(false, Ordering::Relaxed) {
            // The test may have seen enough.
            let _ = started.send(own_name());
            return;
        }
        wait_asked.lock().unwrap().recv().unwrap();
        let (ran, (done, wait_done)) = (ran.clone(), channel());
        heist::spawn(move || {
            ran.send(own_name()).unwrap();
            done.send(()).unwrap();
        });
        heist::blocking(|| wait_done.recv().unwrap());
    };
    let mut seen = None;
    let (send_seen, wait_seen) = channel();
    let name = move |index| {
        if index == 1 && seen.is_none() {
            asked.send(()).unwrap();
            seen = Some(wait_ran.recv().unwrap());
            send_seen.send(seen.clone().unwrap()).unwrap();
        }
        format!("mine-{index}")
    };
    let pool =
        ThreadPoolBuilder::new().num_threads(2).thread_name(name).start_handler(start).build().unwrap();
    assert_eq!(wait_seen.recv().unwrap().as_deref(), Some("heist-0"), "it could not be asked for a name");
    assert!(wait_started.iter().any(|name| name.as_deref() == Some("mine-1")));
    pool.shutdown().unwrap();
}

/// A pool of its own, with a closure of its own.
#[test]
fn a_name_may_come_from_another_pool() {
    let name = |index| {
        let other =
            ThreadPoolBuilder::new().num_threads(1).thread_name(|i| format!("inner-{i}")).build().unwrap();
        let inner = other.install(|| std::thread::current().name().map(String::from));
        format!("{index} of {}", inner.unwrap())
    };
    let pool = ThreadPoolBuilder::new().num_threads(2).thread_name(name).build().unwrap();
    let names = pool.broadcast(|c| (c.index(), std::thread::current().name().map(String::from)));
    for (index, name) in names {
        assert_eq!(name, Some(format!("{index} of inner-0")));
    }
    pool.shutdown().unwrap();
}

/// A closure that has panicked is asked again.
#[test]
fn a_panic_does_not_lose_the_closure() {
    let calls = AtomicUsize::new(0);
    let (send, receive) = channel();
    let name = move |index| {
        if calls.fetch_add(1, Ordering::Relaxed) == 1 {
            panic_any(7u32);
        }
        format!("mine-{index}")
    };
    let handler = {
        let send = Mutex::new(send);
        move |payload: Box<dyn std::any::Any + Send>| {
            send.lock().unwrap().send(*payload.downcast::<u32>().unwrap()).unwrap();
        }
    };
    let pool =
        ThreadPoolBuilder::new().num_threads(1).thread_name(name).panic_handler(handler).build().unwrap();
    // Each waits for the next inside `blocking`, so each runs on a thread of its own: the pool's first, a spare that got no
    // name because the closure panicked, and one that got one.
    fn chain(left: usize) -> Vec<Option<String>> {
        let own = std::thread::current().name().map(String::from);
        if left == 0 {
            return vec![own];
        }
        let (send, receive) = channel();
        heist::spawn(move || send.send(chain(left - 1)).unwrap());
        let mut names = heist::blocking(|| receive.recv().unwrap());
        names.push(own);
        names
    }
    let names = catch_unwind(AssertUnwindSafe(|| pool.install(|| chain(2)))).unwrap();
    let named = |name: &str| Some(String::from(name));
    assert_eq!(names, [named("mine-0"), named("heist-0"), named("mine-0")]);
    assert_eq!(receive.try_recv(), Ok(7));
    pool.shutdown().unwrap();
}
