//! `HEIST_STALL`: if a `block_on` waits and nothing can happen any more in any pool, that is said, and the tasks are named.
//!
//! In a process of its own: the variable is read once, and the report goes to the error stream.

use crate::rig::child;
use std::process::Command;
use std::sync::mpsc;
use std::time::{Duration, Instant};

const CHILD: &str = "HEIST_TEST_ASLEEP_CHILD";

/// In seconds: less than what children wait for.
const LIMIT: &str = "0.5";

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

/// What else a child can do: wait for something that happens by itself, but not soon.
fn child_with(what: &str) {
    const LONG: Duration = Duration::from_millis(3500);
    let pool = heist::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let compute = || {
        let end = Instant::now() + LONG;
        while Instant::now() < end {
            std::hint::spin_loop();
        }
    };
    match what {
        "timer" => heist::block_on(heist::time::sleep(LONG)),
        "blocking call" => {
            heist::block_on(heist::task::spawn_blocking(|| std::thread::sleep(LONG))).unwrap();
        }
        "worker of another pool" => heist::block_on(pool.spawn_task(async move { compute() })).unwrap(),
        "pinned thread" => {
            heist::block_on(heist::task::spawn_pinned(move || async move { compute() }).unwrap()).unwrap();
        }
        "socket" => {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            let friend = std::thread::spawn(move || {
                std::thread::sleep(LONG);
                std::net::TcpStream::connect(address).unwrap()
            });
            heist::block_on(async {
                listener.set_nonblocking(true).unwrap();
                heist::net::TcpListener::from_std(listener).unwrap().accept().await.unwrap();
            });
            friend.join().unwrap();
        }
        "sleepers of another pool" => {
            let task = pool.spawn_task(std::future::pending::<()>());
            let friend = task.abort_handle();
            let helper = std::thread::spawn(move || {
                std::io::stdin().read_line(&mut String::new()).unwrap();
                friend.abort();
            });
            heist::block_on(task).unwrap_err();
            helper.join().unwrap();
        }
        "leaked task" => {
            // Nobody can wake it once it is detached, and nobody can once it waits.
            drop(heist::task::Builder::new().name("early").spawn(std::future::pending::<()>()));
            let late = heist::task::Builder::new().name("late").spawn(std::future::pending::<()>());
            while !heist::task::leaked().iter().any(|task| task.name() == Some("late")) {
                std::thread::yield_now();
            }
            drop(late);
            while heist::task::dump().iter().any(|task| task.name().is_some()) {
                std::thread::yield_now();
            }
        }
        _ => unreachable!("no such child"),
    }
}

/// Runs the child and returns what it said before `until`, or until its end.
fn run(value: &str, until: Option<&str>) -> String {
    run_child("1", value, until)
}

fn run_child(what: &str, value: &str, until: Option<&str>) -> String {
    use std::io::{BufRead, BufReader};
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &child::test_name(module_path!(), "asleep_tasks_are_reported"), "--nocapture"])
        .env(CHILD, what)
        .env("HEIST_STALL", value)
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
    match std::env::var(CHILD) {
        Ok(what) if what == "1" => return child(),
        Ok(what) => return child_with(&what),
        Err(_) => {}
    }
    // The report ends with how many there are; the child then gets what it waits for.
    let said = run(LIMIT, Some("could still help"));
    for part in
        ["all tasks are asleep", "waiting", "1 waker", "task_asleep.rs", "(sleepy)", "1 task, 0 of them"]
    {
        assert!(said.contains(part), "no {part:?} in:\n{said}");
    }
    assert!(!run("0", None).contains("asleep"));
    assert!(run("maybe", None).contains("HEIST_STALL=\"maybe\""));
}

#[test]
fn who_waits_for_what_will_happen_is_not_asleep() {
    let things = ["timer", "blocking call", "worker of another pool", "pinned thread", "socket"];
    std::thread::scope(|scope| {
        let children = things.map(|what| (what, scope.spawn(move || run_child(what, LIMIT, None))));
        for (what, child) in children {
            let said = child.join().unwrap();
            assert!(!said.contains("asleep"), "while a {what} was to be waited for:\n{said}");
        }
    });
}

#[test]
fn tasks_of_every_pool_are_reported() {
    let said = run_child("sleepers of another pool", LIMIT, Some("could still help"));
    assert!(said.contains("1 task, 1 of them without a waker"), "{said}");
}

#[test]
fn detached_tasks_that_nobody_can_wake_are_reported() {
    let said = run_child("leaked task", LIMIT, None);
    for name in ["(early)", "(late)"] {
        let line = said.lines().find(|line| line.contains(name));
        let line = line.unwrap_or_else(|| panic!("no {name:?} in:\n{said}"));
        assert!(line.contains("leaked, spawned at") && line.contains("task_asleep.rs"), "{line}");
    }
    assert!(!run_child("leaked task", "0", None).contains("leaked"));
}
