//! `HEIST_DEADLOCK=report`: a `block_on` that waits in a pool in which nothing can happen any more says so, and names the tasks.
//!
//! In a process of its own: the variable is read once, and the report goes to the error stream.

use std::process::Command;
use std::sync::mpsc;

const CHILD: &str = "HEIST_TEST_ASLEEP_CHILD";

/// What the child does: a task waits for something that a thread of the program's own holds, and `block_on` waits for the task.
/// The thread helps when its input ends, so that a run without a report ends as well.
fn child() {
    let (send, receive) = mpsc::channel::<std::task::Waker>();
    let friend = std::thread::spawn(move || {
        let waker = receive.recv().unwrap();
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).unwrap();
        waker.wake();
    });
    let mut polls = 0;
    let task = heist::task::Builder::new().name("sleepy").spawn(std::future::poll_fn(move |cx| {
        polls += 1;
        if polls == 1 {
            send.send(cx.waker().clone()).unwrap();
            return std::task::Poll::Pending;
        }
        std::task::Poll::Ready(())
    }));
    heist::block_on(task).unwrap();
    friend.join().unwrap();
}

/// Runs the child and returns what it said before `until`, or until its end.
fn run(value: &str, until: Option<&str>) -> String {
    use std::io::{BufRead, BufReader};
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "asleep_tasks_are_reported", "--nocapture"])
        .env(CHILD, "1")
        .env("HEIST_DEADLOCK", value)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take();
    if until.is_none() {
        input = None;
    }
    let mut said = String::new();
    for line in BufReader::new(child.stderr.take().unwrap()).lines() {
        let line = line.unwrap();
        said += &line;
        said.push('\n');
        if until.is_some_and(|end| line.contains(end)) {
            input = None;
        }
    }
    drop(input);
    assert!(child.wait().unwrap().success(), "{said}");
    said
}

#[test]
fn asleep_tasks_are_reported() {
    if std::env::var_os(CHILD).is_some() {
        return child();
    }
    // The report ends with how many there are; the child then gets what it waits for.
    let said = run("report", Some("could still help"));
    for part in
        ["all tasks are asleep", "waiting", "1 wakers", "task_asleep.rs", "(sleepy)", "1 tasks, 0 of them"]
    {
        assert!(said.contains(part), "no {part:?} in:\n{said}");
    }
    assert!(!run("off", None).contains("asleep"));
    assert!(run("maybe", None).contains("HEIST_DEADLOCK=\"maybe\""));
}
