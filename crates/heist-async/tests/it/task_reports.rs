//! What heist says on stderr when nobody can hear it: a report that cannot be written must not unwind, least of all on a thread of
//! a pool. In processes of their own, because stderr is the process's.
#![cfg(target_os = "linux")]

use crate::rig::child;
use crate::rig::watchdog::watch;
use heist_async::{block_on, task};
use std::future::{pending, poll_fn};
use std::process::Command;
use std::sync::mpsc;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

/// Runs the ignored test `name` with a stderr to which nothing can be written.
fn in_own_process(name: &str, stall: &str) {
    let output = Command::new("sh")
        .args(["-c", "exec \"$0\" --exact --ignored --nocapture --test-threads=1 \"$1\" 2>/dev/full"])
        .arg(std::env::current_exe().unwrap())
        .arg(child::test_name(module_path!(), name))
        .env("HEIST_STALL", stall)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{:?}: {text}", output.status);
}

#[test]
fn a_task_that_leaks() {
    in_own_process("a_task_that_leaks_inside", "0.5");
}

#[test]
#[ignore = "run by a_task_that_leaks, without a stderr"]
fn a_task_that_leaks_inside() {
    let _watch = watch!();
    let (sender, dropped) = mpsc::channel::<()>();
    // Nobody has a waker of it nor a handle, so it is reported and dropped.
    drop(task::spawn(async move {
        let _sender = sender;
        pending::<()>().await;
    }));
    assert!(dropped.recv().is_err());
    assert_eq!(block_on(task::spawn(async { 7 })).unwrap(), 7);
}

#[test]
fn a_setting_that_means_nothing() {
    in_own_process("a_setting_that_means_nothing_inside", "maybe");
}

#[test]
#[ignore = "run by a_setting_that_means_nothing, without a stderr"]
fn a_setting_that_means_nothing_inside() {
    let _watch = watch!();
    assert_eq!(block_on(task::spawn(async { 7 })).unwrap(), 7);
}

/// For as long as it takes to be sure that nothing can happen; a thread of the program's own ends the wait.
#[test]
fn all_are_asleep() {
    in_own_process("all_are_asleep_inside", "0.5");
}

#[test]
#[ignore = "run by all_are_asleep, without a stderr"]
fn all_are_asleep_inside() {
    let _watch = watch!();
    let over = Instant::now() + Duration::from_millis(2500);
    let (sender, wakers) = mpsc::channel::<Waker>();
    let waking = std::thread::spawn(move || {
        let waker = wakers.recv().unwrap();
        assert!(wakers.recv_timeout(over.saturating_duration_since(Instant::now())).is_err());
        waker.wake();
    });
    let mut is_first = true;
    block_on(poll_fn(|cx| {
        if std::mem::take(&mut is_first) {
            sender.send(cx.waker().clone()).unwrap();
            return Poll::Pending;
        }
        Poll::Ready(())
    }));
    assert!(Instant::now() >= over);
    waking.join().unwrap();
}
