//! Programs that hang, each in another way: the report says who and where. Programs that do not are left alone.
//!
//! Each is a process of its own: it is ended when it has said what it should.

use crate::rig::child;
use crate::rig::watchdog::watch;
use heist::stall::{self, ClosureKind, Finding, Progress, WaitsFor};
use heist::tick::{self, Next};
use heist::{ThreadPool, ThreadPoolBuilder};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};

/// What the children allow, in seconds.
const LIMIT: &str = "0.4";

fn pool(n: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(n).build().unwrap()
}

/// A child that may ask the system, also where the other tests do without: what it says is what these reports are made of.
fn on_a_system_that_tells(name: &str, case: &str) -> Command {
    let mut child = child::child(module_path!(), name, case);
    child.env_remove("HEIST_OS_HINTS");
    child
}

/// Sleeps for ever, unless the process that waits for this one is gone.
fn hang() -> ! {
    let _ = std::io::stdin().read(&mut [0]);
    std::process::exit(0)
}

/// Something that happens by itself all the time.
fn heartbeat() -> heist::task::JoinHandle<()> {
    heist::task::Builder::new().name("heartbeat").spawn(async {
        loop {
            heist::time::sleep(Duration::from_millis(5)).await;
        }
    })
}

/// Locks one after the other, with somebody who does so the other way round.
fn lock_both(first: &Mutex<()>, second: &Mutex<()>, both: &Barrier) {
    let _first = first.lock().unwrap();
    both.wait();
    drop(second.lock().unwrap());
}

/// Two locks, and a barrier between the first and the second that is taken.
type Locks = Arc<(Mutex<()>, Mutex<()>, Barrier)>;

fn two_mutexes() -> (Locks, Locks) {
    let locks = Arc::new((Mutex::new(()), Mutex::new(()), Barrier::new(2)));
    (locks.clone(), locks)
}

fn mutexes_by_jobs() {
    let (left, right) = two_mutexes();
    let pool = pool(2);
    pool.spawn(move || lock_both(&left.0, &left.1, &left.2));
    pool.spawn(move || lock_both(&right.1, &right.0, &right.2));
    hang();
}

fn mutexes_by_polls_beside_a_heartbeat() {
    let (left, right) = two_mutexes();
    let _beats = heartbeat();
    let left = async move { lock_both(&left.0, &left.1, &left.2) };
    let right = async move { lock_both(&right.1, &right.0, &right.2) };
    let _left = heist::task::Builder::new().name("left").spawn(left);
    let _right = heist::task::Builder::new().name("right").spawn(right);
    hang();
}

async fn lock_both_async(
    first: Arc<tokio::sync::Mutex<()>>,
    second: Arc<tokio::sync::Mutex<()>>,
    both: Arc<tokio::sync::Barrier>,
) {
    let _first = first.lock().await;
    both.wait().await;
    let _second = second.lock().await;
}

fn async_mutexes() {
    let (a, b) = (Arc::new(tokio::sync::Mutex::new(())), Arc::new(tokio::sync::Mutex::new(())));
    let both = Arc::new(tokio::sync::Barrier::new(2));
    let left = lock_both_async(a.clone(), b.clone(), both.clone());
    let left = heist::task::Builder::new().name("left").spawn(left);
    let right = heist::task::Builder::new().name("right").spawn(lock_both_async(b, a, both));
    heist::block_on(async {
        left.await.unwrap();
        right.await.unwrap();
    });
}

fn lost_waker_beside_a_heartbeat() {
    let _beats = heartbeat();
    let mut keep = None;
    let lost = heist::task::Builder::new().name("lost").spawn(std::future::poll_fn(move |cx| {
        // It is kept for a while, and then thrown away instead of being woken.
        match keep.take() {
            None => {
                keep = Some(cx.waker().clone());
                cx.waker().wake_by_ref();
            }
            Some(waker) => drop::<std::task::Waker>(waker),
        }
        std::task::Poll::<()>::Pending
    }));
    heist::block_on(lost).unwrap();
}

fn all_workers_blocked() {
    let pool = pool(2);
    let (send, receive): (Sender<()>, Receiver<()>) = channel();
    let receive = Arc::new(Mutex::new(receive));
    for _ in 0..2 {
        let receive = receive.clone();
        pool.spawn(move || receive.lock().unwrap().recv().unwrap());
    }
    // Its turn does not come.
    pool.spawn(move || (0..2).for_each(|_| send.send(()).unwrap()));
    hang();
}

fn endless_tick() {
    let pool = pool(2);
    let (_send, receive) = channel::<()>();
    let spec = tick::every(Duration::from_millis(5)).name("endless");
    spec.spawn_on(&pool, move |_| {
        let _ = receive.recv();
        Next::Stop
    });
    hang();
}

fn tasks_that_await_each_other() {
    let (send, receive) = channel::<heist::task::JoinHandle<()>>();
    let receive = Mutex::new(receive);
    let left = heist::task::Builder::new().name("left").spawn(async move {
        let right = receive.lock().unwrap().recv().unwrap();
        right.await.unwrap();
    });
    let right = heist::task::Builder::new().name("right").spawn(async move { left.await.unwrap() });
    send.send(right).unwrap();
    hang();
}

/// Each pool has one thread, which calls into the other one. What is called waits for the task that calls from there.
fn installs_into_each_other() {
    let [left, right] = [1, 1].map(|n| Arc::new(pool(n)));
    let task = |name: &'static str, home: &ThreadPool, other: Arc<ThreadPool>| {
        let (send, receive) = channel::<heist::task::JoinHandle<()>>();
        let receive = Mutex::new(receive);
        let task = heist::task::Builder::new().name(name).spawn_in(home, async move {
            let awaited = receive.lock().unwrap().recv().unwrap();
            other.install(|| heist::block_on(awaited).unwrap());
        });
        (send, task)
    };
    let (to_left, of_left) = task("left", &left, right.clone());
    let (to_right, of_right) = task("right", &right, left.clone());
    to_left.send(of_right).unwrap();
    to_right.send(of_left).unwrap();
    hang();
}

/// A task opens a scope, whose job waits on another thread for a task that waits for the first.
fn a_scope_in_a_circle() {
    let pool = Arc::new(pool(2));
    let (send, receive) = channel::<heist::task::JoinHandle<()>>();
    let receive = Mutex::new(receive);
    let theirs = pool.clone();
    let left = heist::task::Builder::new().name("left").spawn_in(&*pool, async move {
        let right = receive.lock().unwrap().recv().unwrap();
        let both = Barrier::new(2);
        theirs.scope(|scope| {
            scope.spawn(|_| {
                both.wait();
                heist::block_on(right).unwrap();
            });
            // Somebody else has it.
            both.wait();
        });
    });
    let right =
        heist::task::Builder::new().name("right").spawn_in(&*pool, async move { left.await.unwrap() });
    send.send(right).unwrap();
    hang();
}

/// Everything here takes longer than the limit, and goes on.
fn healthy() {
    const LONG: Duration = Duration::from_millis(1500);
    let compute = || {
        let end = Instant::now() + LONG;
        while Instant::now() < end {
            std::hint::spin_loop();
        }
    };
    let pool = pool(2);
    let blocking = heist::task::spawn_blocking(move || std::thread::sleep(LONG));
    let sleeper = pool.spawn_task(heist::time::sleep(LONG));
    let waits = pool.spawn_task(sleeper);
    pool.spawn(move || heist::blocking(|| std::thread::sleep(LONG)));
    // A thread that belongs to its pool until it ends, and is not inside of it all the while.
    let maker = std::thread::spawn(|| {
        let _pool = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().unwrap();
        std::thread::sleep(LONG);
    });
    pool.join(compute, || heist::join(compute, compute));
    heist::block_on(async {
        waits.await.unwrap().unwrap();
        blocking.await.unwrap();
        heist::time::sleep(LONG).await;
    });
    maker.join().unwrap();
    pool.shutdown().unwrap();
}

/// A signal comes while a job is blocked; then the program goes on to its end.
fn sigquit() {
    stall::on_sigquit().unwrap();
    stall::on_sigquit().unwrap();
    let pool = pool(1);
    let (send, receive) = channel::<()>();
    let (begin, begun) = channel();
    pool.spawn(move || {
        begin.send(()).unwrap();
        let _ = receive.recv();
    });
    begun.recv().unwrap();
    for _ in 0..2 {
        // SAFETY: the signal is caught.
        assert_eq!(unsafe { libc::raise(libc::SIGQUIT) }, 0);
        // The other process has seen the report.
        assert_eq!(std::io::stdin().read(&mut [0]).unwrap(), 1);
    }
    drop(send);
    assert_eq!(pool.install(|| 7), 7);
    pool.shutdown().unwrap();
}

/// What a report has for programs: asked for from outside, and from a job of the pool itself.
fn structured() {
    let pool = pool(2);
    let (send, receive) = channel::<()>();
    pool.spawn(move || {
        let _ = receive.recv();
    });
    let (tell, told) = channel();
    pool.spawn(move || tell.send(stall::report()).unwrap());
    for report in [told.recv().unwrap(), stall::report()] {
        assert!(report.is_stalled() && report.unknown.is_empty(), "{report}");
        let asleep: Vec<_> = report
            .findings
            .iter()
            .map(|finding| match finding {
                Finding::Asleep { pool, thread, at_least } => (*pool, *thread, *at_least),
                other => panic!("{other:?} in {report}"),
            })
            .collect();
        let [(id, number, at_least)] = asleep[..] else { panic!("{report}") };
        assert!(at_least >= Duration::from_millis(50), "{report}");
        let thread = report.thread(id, number).unwrap();
        let closure = thread.closure.unwrap();
        assert_eq!((thread.progress, closure.kind), (Progress::Asleep, ClosureKind::Job), "{report}");
        assert_eq!(closure.site.file(), file!());
        let holds = thread.holds.unwrap();
        let ours = report.pools.iter().find(|pool| pool.id == id).unwrap();
        assert_eq!((ours.permits[holds].holder, ours.active), (Some(number), 2), "{report}");
    }
    drop(send);
    // A join that waits: for whom, and what became of its permit.
    let (send, receive) = channel::<()>();
    let (both, receive) = (Barrier::new(2), Mutex::new(receive));
    std::thread::scope(|threads| {
        threads.spawn(|| {
            pool.join(
                || both.wait(),
                || {
                    both.wait();
                    let _ = receive.lock().unwrap().recv();
                },
            )
        });
        loop {
            let report = stall::report();
            let all = || report.pools.iter().flat_map(|pool| &pool.threads);
            if let Some(waiter) = all().find(|thread| matches!(thread.waits_for, WaitsFor::Half(_))) {
                let WaitsFor::Half(thief) = waiter.waits_for else { unreachable!() };
                let thief = all().find(|thread| thread.number == thief).unwrap();
                if thief.progress == Progress::Asleep {
                    assert!(waiter.lent.is_some() && waiter.holds.is_none(), "{report}");
                    assert!(thief.holds.is_some(), "{report}");
                    break;
                }
            }
        }
        drop(send);
    });
}

/// A system that tells nothing of its threads.
fn unknown() {
    let pool = pool(1);
    let (send, receive) = channel::<()>();
    let (begin, begun) = channel();
    pool.spawn(move || {
        begin.send(()).unwrap();
        let _ = receive.recv();
    });
    begun.recv().unwrap();
    let report = stall::report();
    assert!(!report.is_stalled(), "{report}");
    assert!(report.to_string().contains("whether it computes or sleeps is unknown"), "{report}");
    drop(send);
}

fn run_case(case: &str) {
    match case {
        "mutexes by jobs" => mutexes_by_jobs(),
        "mutexes by polls" => mutexes_by_polls_beside_a_heartbeat(),
        "async mutexes" => async_mutexes(),
        "lost waker" => lost_waker_beside_a_heartbeat(),
        "all blocked" => all_workers_blocked(),
        "tick" => endless_tick(),
        "await each other" => tasks_that_await_each_other(),
        "installs" => installs_into_each_other(),
        "scope" => a_scope_in_a_circle(),
        "healthy" => healthy(),
        "sigquit" => sigquit(),
        "structured" => structured(),
        "unknown" => unknown(),
        _ => unreachable!("no such case"),
    }
}

/// A process that hangs, and what it says.
struct Hung {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStderr>>,
    said: String,
}

impl Hung {
    fn new(case: &str, name: &str) -> Self {
        let mut child = on_a_system_that_tells(name, case)
            .env("HEIST_STALL", LIMIT)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        Self { child, lines, said: String::new() }
    }

    /// Reads on until there is a line with all of these.
    fn wait_for(&mut self, parts: &[&str]) {
        for line in &mut self.lines {
            let line = line.unwrap();
            self.said += &line;
            self.said.push('\n');
            if parts.iter().all(|part| line.contains(part)) {
                return;
            }
        }
        panic!("no line with {parts:?} in:\n{}", self.said);
    }
}

impl Drop for Hung {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs the case in a process of its own until it has said each of these, in this order.
fn says(case: &str, name: &str, lines: &[&[&str]]) {
    if let Some(case) = child::case() {
        return run_case(&case);
    }
    let _watch = watch!();
    let mut hung = Hung::new(case, name);
    lines.iter().for_each(|parts| hung.wait_for(parts));
}

const ASLEEP: &str = "asleep in the kernel for";

#[test]
fn two_mutexes_by_jobs() {
    let job = ["of pool", "in a job from", "stalls.rs:", ASLEEP];
    says("mutexes by jobs", "two_mutexes_by_jobs", &[&["2 findings"], &job, &job]);
}

#[test]
fn two_mutexes_by_polls_beside_a_heartbeat() {
    let poll = ["in a poll of task", "spawned at", "stalls.rs:", ASLEEP];
    let name = "two_mutexes_by_polls_beside_a_heartbeat";
    says("mutexes by polls", name, &[&poll, &["(left)"], &["(right)"]]);
}

#[test]
fn two_async_mutexes() {
    let task = |name| [name, "waiting for", "1 waker", "stalls.rs:", "lock_both_async"];
    let lines: [&[&str]; 3] = [&["all tasks are asleep", "2 tasks, 0"], &task("(left)"), &task("(right)")];
    says("async mutexes", "two_async_mutexes", &lines);
}

#[test]
fn a_lost_waker_beside_a_heartbeat() {
    let lost: [&[&str]; 1] = [&["nobody will wake task", "(lost)", "stalls.rs:"]];
    says("lost waker", "a_lost_waker_beside_a_heartbeat", &lost);
}

#[test]
fn all_workers_that_block() {
    let lines: [&[&str]; 3] = [
        &["in a job from", "stalls.rs:", ASLEEP],
        &["every worker of pool", "1 job ", "rescue_blocked", "heist::blocking", "spawn_blocking"],
        &["2 threads may run, 0 permits free, 1 job and"],
    ];
    says("all blocked", "all_workers_that_block", &lines);
}

#[test]
fn a_tick_that_never_ends() {
    let lines: [&[&str]; 1] = [&["the tick \"endless\"", "stalls.rs:", ASLEEP]];
    says("tick", "a_tick_that_never_ends", &lines);
}

#[test]
fn tasks_in_a_circle() {
    let lines: [&[&str]; 1] = [&["a circle of waits", "(left)", "(right)", "waits for", "stalls.rs:"]];
    says("await each other", "tasks_in_a_circle", &lines);
}

#[test]
fn installs_in_a_circle() {
    // From wherever it is told: both tasks, and the four threads that run them and what they have installed.
    let circle = ["a circle of waits", "(left)", "(right)", "in an installed job from", "stalls.rs:"];
    let lines: [&[&str]; 2] = [&circle, &["for a call into pool", "which runs on thread"]];
    says("installs", "installs_in_a_circle", &lines);
}

#[test]
fn jobs_of_a_scope_in_a_circle() {
    let circle = ["a circle of waits", "(left)", "(right)", "in a job of a scope, spawned at", "stalls.rs:"];
    let lines: [&[&str]; 2] = [&circle, &["for the jobs of a scope", "which runs on thread"]];
    says("scope", "jobs_of_a_scope_in_a_circle", &lines);
}

#[test]
fn what_goes_on_is_not_reported() {
    if let Some(case) = child::case() {
        return run_case(&case);
    }
    let _watch = watch!();
    let mut child = on_a_system_that_tells("what_goes_on_is_not_reported", "healthy");
    let said = child::ends_well(child.env("HEIST_STALL", LIMIT));
    assert!(!said.contains("stall"), "{said}");
}

#[test]
fn sigquit_reports_and_the_program_goes_on() {
    if let Some(case) = child::case() {
        return run_case(&case);
    }
    let _watch = watch!();
    let mut hung = Hung::new("sigquit", "sigquit_reports_and_the_program_goes_on");
    let mut input = hung.child.stdin.take().unwrap();
    for _ in 0..2 {
        hung.wait_for(&["stall report"]);
        hung.wait_for(&["in a job from", "stalls.rs:", ASLEEP]);
        input.write_all(b"\n").unwrap();
    }
    assert!(hung.child.wait().unwrap().success(), "{}", hung.said);
}

#[test]
fn a_report_can_be_read_by_programs() {
    if let Some(case) = child::case() {
        return run_case(&case);
    }
    let _watch = watch!();
    child::ends_well(&mut on_a_system_that_tells("a_report_can_be_read_by_programs", "structured"));
}

#[test]
fn what_the_system_does_not_tell_is_unknown() {
    if let Some(case) = child::case() {
        return run_case(&case);
    }
    let _watch = watch!();
    let mut child = on_a_system_that_tells("what_the_system_does_not_tell_is_unknown", "unknown");
    child::ends_well(child.env("HEIST_OS_HINTS", "0"));
}

#[test]
fn a_limit_that_is_too_short_is_an_error() {
    let error = ThreadPoolBuilder::new().stall_after(Duration::from_millis(1)).build().unwrap_err();
    assert!(error.to_string().contains("stall_after(1ms) is less than can be told"), "{error}");
}
