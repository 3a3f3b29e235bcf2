//! A [`ThreadBuilder`] that is run where it cannot be: on a thread that belongs to a pool already.

use crate::rig::pool::guest_pool;
use heist::{ThreadBuilder, ThreadPool, ThreadPoolBuilder, block_on, join};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::Duration;

/// A pool of two, one of whose threads has been started and the other not.
fn half_started() -> (ThreadPool, ThreadBuilder) {
    let kept = Mutex::new(None);
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .spawn_handler(|thread| {
            if thread.index() == 0 {
                std::thread::spawn(move || thread.run());
            } else {
                *kept.lock().unwrap() = Some(thread);
            }
            Ok(())
        })
        .build()
        .unwrap();
    let thread = kept.into_inner().unwrap().unwrap();
    (pool, thread)
}

fn outer() -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(2).build().unwrap()
}

fn check_message(payload: &(dyn std::any::Any + Send)) {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_string());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned()).expect("a message");
    assert!(text.contains("ThreadBuilder::run"), "{text}");
    assert!(text.contains("already part of a thread pool"), "{text}");
    assert!(text.contains("std::thread::spawn"), "what to do instead: {text}");
}

/// Both pools work as before, and both end.
fn check_pools(outer: ThreadPool, half: ThreadPool) {
    assert_eq!(outer.install(|| join(|| 1, || 2)), (1, 2));
    assert_eq!(half.install(|| join(|| 3, || 4)), (3, 4));
    let report = half.shutdown_within(Duration::from_secs(60)).unwrap();
    assert!(report.is_complete, "{report}");
    outer.shutdown().unwrap();
}

#[test]
fn a_thread_cannot_be_run_inside_a_join() {
    let (outer, (half, thread)) = (outer(), half_started());
    let seen = catch_unwind(AssertUnwindSafe(|| outer.join(|| thread.run(), || ())));
    check_message(&*seen.unwrap_err());
    check_pools(outer, half);
}

#[test]
fn a_thread_cannot_be_run_inside_a_spawned_job() {
    let (send, receive) = channel();
    let send = Mutex::new(send);
    let handler = move |payload| send.lock().unwrap().send(payload).unwrap();
    let outer = ThreadPoolBuilder::new().num_threads(2).panic_handler(handler).build().unwrap();
    let (half, thread) = half_started();
    outer.spawn(|| thread.run());
    check_message(&*receive.recv().unwrap());
    check_pools(outer, half);
}

#[test]
fn a_thread_cannot_be_run_inside_a_task() {
    let (outer, (half, thread)) = (outer(), half_started());
    let seen = block_on(outer.spawn_task(async move { thread.run() }));
    check_message(&*seen.unwrap_err().into_panic());
    check_pools(outer, half);
}

#[test]
fn a_thread_cannot_be_run_on_a_thread_that_works_in_a_pool_as_a_guest() {
    let (outer, (half, thread)) = (guest_pool(2), half_started());
    let seen = catch_unwind(AssertUnwindSafe(|| outer.fork(|_| thread.run())));
    check_message(&*seen.unwrap_err());
    check_pools(outer, half);
}

/// The pool's only thread was to be the one that could not be run.
#[test]
fn a_pool_without_its_only_thread_ends() {
    let kept = Mutex::new(None);
    let keep = |thread| {
        *kept.lock().unwrap() = Some(thread);
        Ok(())
    };
    let none = ThreadPoolBuilder::new().num_threads(1).spawn_handler(keep).build().unwrap();
    let thread = kept.into_inner().unwrap().unwrap();
    let outer = outer();
    let seen = catch_unwind(AssertUnwindSafe(|| outer.install(|| thread.run())));
    check_message(&*seen.unwrap_err());
    let report = none.shutdown_within(Duration::from_secs(60)).unwrap();
    assert!(report.is_complete, "{report}");
    outer.shutdown().unwrap();
}
