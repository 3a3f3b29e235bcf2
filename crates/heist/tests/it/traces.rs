//! Recordings: everything that is recorded happened once, and is called by its name. The replay reads the JSON, as any viewer does.

use crate::rig::pool::pool;
use crate::rig::watchdog::watch;
use heist::tick::{self, Next};
use heist::trace::{FlightRecorder, Kind, Trace};
use heist::{ThreadPool, ThreadPoolBuilder};
use heist_sync::atomic::{AtomicUsize, Ordering};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn json_of(trace: &Trace) -> Vec<Value> {
    let mut text = Vec::new();
    trace.write_chrome(&mut text).unwrap();
    serde_json::from_slice(&text).unwrap()
}

/// Every item has what the format demands of its phase.
fn check_schema(items: &[Value]) {
    for item in items {
        let has = |keys: &[&str]| keys.iter().all(|key| !item[*key].is_null());
        let phase = item["ph"].as_str().unwrap_or_else(|| panic!("no phase: {item}"));
        assert!(item["pid"].is_u64(), "{item}");
        let is_good = match phase {
            "M" => has(&["name", "args"]),
            "B" => has(&["tid", "ts", "name", "cat", "args"]),
            "E" => has(&["tid", "ts"]),
            "X" => has(&["tid", "ts", "dur", "name"]),
            "i" => has(&["tid", "ts", "name", "s"]),
            "s" | "f" => has(&["tid", "ts", "id", "cat", "name"]) && (phase == "s" || item["bp"] == "e"),
            "C" => has(&["ts", "name", "args"]) && item["args"]["value"].is_i64(),
            _ => false,
        };
        assert!(is_good, "{item}");
    }
}

/// What a replay has counted.
#[derive(Default, Debug)]
struct Replayed {
    jobs: usize,
    polls: usize,
    ticks: usize,
}

/// Goes through the items in the order of time. Each job that was spawned begins once before its number is used again; each time that a task was made
/// ready, one poll follows; no tick is run by two threads at once; slices nest.
fn replay(items: &[Value]) -> Replayed {
    let mut timed: Vec<&Value> = items.iter().filter(|item| !item["ts"].is_null()).collect();
    // Stable: of one moment, as they were written.
    timed.sort_by(|a, b| a["ts"].as_f64().partial_cmp(&b["ts"].as_f64()).unwrap());
    let (mut spawned, mut ready) = (HashMap::<u64, bool>::new(), HashMap::<u64, bool>::new());
    let mut inside: HashMap<(String, u64), u64> = HashMap::new();
    let mut open: BTreeMap<u64, Vec<(String, u64)>> = BTreeMap::new();
    let mut replayed = Replayed::default();
    for item in timed {
        let (phase, tid) = (item["ph"].as_str().unwrap(), item["tid"].as_u64().unwrap_or(0));
        match phase {
            "i" if item["name"] == "spawn" => {
                let before = spawned.insert(item["args"]["id"].as_u64().unwrap(), false);
                assert_ne!(before, Some(false), "spawned again and never begun: {item}");
            }
            "s" if item["cat"] == "wake" => {
                let before = ready.insert(item["args"]["task"].as_u64().unwrap(), false);
                assert_ne!(before, Some(false), "made ready again and never polled: {item}");
            }
            "B" => {
                let (category, id) =
                    (item["cat"].as_str().unwrap().to_string(), item["args"]["id"].as_u64().unwrap_or(0));
                match category.as_str() {
                    "job" if id != 0 => {
                        assert_eq!(
                            spawned.insert(id, true),
                            Some(false),
                            "begun and not spawned, or twice: {item}"
                        );
                        replayed.jobs += 1;
                    }
                    "poll" => {
                        assert_eq!(
                            ready.insert(id, true),
                            Some(false),
                            "polled and not ready, or twice: {item}"
                        );
                        replayed.polls += 1;
                    }
                    "tick" => replayed.ticks += 1,
                    _ => {}
                }
                // A poll is over for the task before it is for the thread: another may have begun the next.
                if category == "tick" {
                    let other = inside.insert((category.clone(), id), tid);
                    assert_eq!(other, None, "two threads at once: {item}");
                }
                open.entry(tid).or_default().push((category, id));
            }
            "E" => {
                let slice = open
                    .entry(tid)
                    .or_default()
                    .pop()
                    .unwrap_or_else(|| panic!("ends and has not begun: {item}"));
                inside.remove(&slice);
            }
            _ => {}
        }
    }
    assert!(open.values().all(Vec::is_empty), "{open:?}");
    assert!(spawned.values().all(|&is_begun| is_begun), "spawned and never begun: {spawned:?}");
    assert!(ready.values().all(|&is_polled| is_polled), "ready and never polled");
    replayed
}

/// Jobs, tasks and ticks, and how many of each there were.
fn program(pool: &ThreadPool) -> Replayed {
    let (jobs, ticks) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let ran = Arc::clone(&ticks);
    let ticking = tick::every(Duration::from_millis(1)).name("heartbeat").spawn_on(pool, move |_| {
        if ran.fetch_add(1, Ordering::Relaxed) == 9 { Next::Stop } else { Next::Continue }
    });
    pool.scope(|s| {
        for _ in 0..100 {
            s.spawn(|_| {
                jobs.fetch_add(1, Ordering::Relaxed);
                heist::join(|| std::hint::black_box(1), || std::hint::black_box(2));
            });
        }
    });
    let tasks: Vec<_> = (0..100)
        .map(|n| {
            let task = async move {
                for _ in 0..n % 5 {
                    heist::task::yield_now().await;
                }
            };
            heist::task::Builder::new().name("worker bee").spawn_in(pool, task)
        })
        .collect();
    heist::block_on(async {
        for task in tasks {
            task.await.unwrap();
        }
    });
    ticking.wait().unwrap();
    Replayed {
        jobs: jobs.load(Ordering::Relaxed),
        polls: (0..100).map(|n| n % 5 + 1).sum(),
        ticks: ticks.load(Ordering::Relaxed),
    }
}

#[test]
fn all_that_is_recorded_happened_once() {
    let _watch = watch!();
    for workers in [1, 2, 4] {
        let pool = pool(workers);
        pool.start_trace();
        let done = program(&pool);
        // A poll ends after the task has: what is waited for is that nobody is inside of one.
        pool.broadcast(|_| ());
        let trace = pool.stop_trace();
        assert_eq!(trace.lost(), 0);
        let items = json_of(&trace);
        check_schema(&items);
        let replayed = replay(&items);
        assert!(replayed.jobs >= done.jobs, "{replayed:?} of {done:?}");
        assert_eq!(replayed.polls, done.polls, "{replayed:?} of {done:?}");
        assert_eq!(replayed.ticks, done.ticks, "{replayed:?} of {done:?}");
    }
}

#[test]
fn slices_have_the_names_of_tasks_ticks_spans_and_threads() {
    let _watch = watch!();
    let pool =
        heist::ThreadPoolBuilder::new().num_threads(2).thread_name(|n| format!("smith {n}")).build().unwrap();
    pool.start_trace();
    program(&pool);
    pool.install(|| {
        let _span = heist::trace::span("forging");
        heist::trace::counter("swords", 1 << 40);
        heist::trace::counter("swords", -2);
    });
    heist::block_on(pool.spawn_task(async {})).unwrap();
    let items = json_of(&pool.stop_trace());
    let named = |phase: &str, name: &str| {
        items.iter().filter(|item| item["ph"] == phase && item["name"] == name).count()
    };
    assert!(named("B", "worker bee") >= 100);
    assert_eq!(named("B", "heartbeat"), 10);
    assert_eq!(named("B", "forging"), 1);
    let values: Vec<_> = items
        .iter()
        .filter(|item| item["name"] == "swords")
        .map(|item| item["args"]["value"].clone())
        .collect();
    assert_eq!(values, [serde_json::json!(1_i64 << 40), serde_json::json!(-2)]);
    let here = |item: &&Value| {
        item["ph"] == "B" && item["name"].as_str().is_some_and(|name| name.contains("traces.rs:"))
    };
    assert!(
        items.iter().any(|item| here(&item) && item["cat"] == "poll"),
        "a task without a name is called by its place"
    );
    assert!(items.iter().any(|item| here(&item) && item["cat"] == "span"), "so is a closure");
    let threads: Vec<_> =
        items.iter().filter(|item| item["name"] == "thread_name").map(|item| &item["args"]["name"]).collect();
    assert!(threads.iter().any(|name| *name == "smith 0"), "{threads:?}");
}

#[test]
fn a_snapshot_leaves_the_recording_as_it_is() {
    let _watch = watch!();
    let pool = pool(2);
    assert_eq!(pool.snapshot_trace().events(), []);
    pool.start_trace();
    pool.install(|| heist::trace::counter("step", 1));
    let first = pool.snapshot_trace();
    pool.install(|| heist::trace::counter("step", 2));
    let all = pool.stop_trace();
    let steps = |trace: &Trace| -> Vec<u32> {
        trace.events().iter().filter(|event| event.kind == Kind::Counter).map(|event| event.arg).collect()
    };
    assert_eq!((steps(&first), steps(&all)), (vec![1], vec![1, 2]));
    pool.install(|| heist::trace::counter("step", 3));
    assert_eq!(pool.stop_trace().events(), [], "nothing is recorded when nobody wants it");
}

#[test]
fn many_events_are_counted_or_there() {
    let _watch = watch!();
    let pool = pool(1);
    pool.start_trace();
    pool.install(|| (0..100_000).for_each(|n| heist::trace::counter("n", n)));
    let trace = pool.stop_trace();
    let kept: Vec<u32> = trace.events().iter().filter(|e| e.kind == Kind::Counter).map(|e| e.arg).collect();
    assert!(trace.lost() > 0 && kept.last() == Some(&99_999));
    assert!(kept.is_sorted(), "in their order");
}

/// Waits until the directory has a file, and returns what is in it.
fn first_file(directory: &std::path::Path) -> Vec<Value> {
    let begun = Instant::now();
    loop {
        for entry in std::fs::read_dir(directory).unwrap() {
            let text = std::fs::read(entry.unwrap().path()).unwrap();
            if let Ok(items) = serde_json::from_slice(&text) {
                return items;
            }
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "nothing was written");
        std::thread::sleep(Duration::from_millis(5));
    }
}

struct Directory(std::path::PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("heist-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_flight_recorder_writes_because_of_a_slow_poll_and_on_demand() {
    let _watch = watch!();
    let directory = Directory::new("flight");
    let flight = FlightRecorder::builder()
        .slow_poll(Duration::from_millis(200))
        .directory(&directory.0)
        .start()
        .unwrap();
    let pool = pool(2);
    let slow = async {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(250) {
            std::hint::spin_loop();
        }
    };
    heist::block_on(heist::task::Builder::new().name("sloth").spawn_in(&pool, slow)).unwrap();
    let items = first_file(&directory.0);
    check_schema(&items);
    assert!(items.iter().any(|item| item["name"] == "sloth"), "what was slow is in the file");
    let path = directory.0.join("asked.json");
    heist::block_on(heist::task::Builder::new().name("hare").spawn_in(&pool, async {})).unwrap();
    flight.write(&path).unwrap();
    let items: Vec<Value> = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert!(items.iter().any(|item| item["name"] == "hare"));
}

#[test]
fn the_flight_recorder_writes_because_of_a_late_tick() {
    let _watch = watch!();
    let directory = Directory::new("late");
    let _flight = FlightRecorder::builder()
        .late_tick(Duration::from_millis(30))
        .directory(&directory.0)
        .start()
        .unwrap();
    let pool = pool(1);
    let slow = |_: &mut tick::Context| {
        std::thread::sleep(Duration::from_millis(60));
        Next::Continue
    };
    let tick = tick::every(Duration::from_millis(10))
        .name("snail")
        .overrun(tick::Overrun::Burst(3))
        .spawn_on(&pool, slow);
    let items = first_file(&directory.0);
    tick.cancel_and_wait();
    assert!(items.iter().any(|item| item["name"] == "snail" && item["cat"] == "tick"));
    let late_us =
        items.iter().filter(|item| item["name"] == "late").filter_map(|item| item["args"]["us"].as_u64());
    assert!(late_us.max() >= Some(30_000));
}

#[test]
#[cfg(target_os = "linux")]
fn a_thread_that_sleeps_inside_of_a_job_a_poll_or_a_tick_is_drawn_as_asleep() {
    let _watch = watch!();
    let nap: fn() = || std::thread::sleep(Duration::from_millis(50));
    let compute: fn() = || {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(50) {
            std::hint::spin_loop();
        }
    };
    let pool = pool(2);
    // The longest sleep that the trace shows inside of a job or a poll.
    let asleep_us = |f: &dyn Fn()| {
        pool.start_trace();
        f();
        pool.broadcast(|_| ());
        let items = json_of(&pool.stop_trace());
        let asleep = items.iter().filter(|item| item["name"] == "asleep in the kernel");
        asleep.filter_map(|item| item["args"]["us"].as_u64()).max().unwrap_or(0)
    };
    let job = |f: fn()| pool.scope(|s| s.spawn(move |_| f()));
    let poll = |f: fn()| heist::block_on(pool.spawn_task(async move { f() })).unwrap();
    let tick = |f: fn()| {
        let spec = tick::every(Duration::from_millis(1));
        let run = move |_: &mut tick::Context| {
            f();
            Next::Stop
        };
        spec.spawn_on(&pool, run).wait().unwrap();
    };
    let knows = pool.install(|| std::env::var_os("HEIST_OS_HINTS").is_none());
    if knows {
        assert!(asleep_us(&|| job(nap)) > 40_000);
        assert!(asleep_us(&|| poll(nap)) > 40_000);
        assert!(asleep_us(&|| tick(nap)) > 40_000);
    }
    // It may be put off its CPU, but it does not go.
    assert_eq!(asleep_us(&|| job(compute)), 0);
    assert_eq!(asleep_us(&|| poll(compute)), 0);
    assert_eq!(asleep_us(&|| tick(compute)), 0);
    // A wait of heist's own is drawn as what it is.
    assert_eq!(
        asleep_us(&|| pool.install(|| heist::blocking(|| std::thread::sleep(Duration::from_millis(50))))),
        0
    );
}

#[test]
fn what_a_guest_runs_itself_is_a_slice() {
    let _watch = watch!();
    let pool = ThreadPoolBuilder::new().num_threads(1).guests(true).build().unwrap();
    let here = std::thread::current().id();
    // A worker that has just begun may have the permit.
    let items = loop {
        pool.start_trace();
        let ran_on = pool.install(|| {
            let _span = heist::trace::span("inside");
            std::thread::current().id()
        });
        let trace = pool.stop_trace();
        if ran_on == here {
            break json_of(&trace);
        }
    };
    check_schema(&items);
    let edges = |name: &str| {
        let begun = items.iter().position(|item| item["ph"] == "B" && item["name"] == name).unwrap();
        let tid = &items[begun]["tid"];
        let ends: Vec<_> = items.iter().filter(|item| item["ph"] == "E" && item["tid"] == *tid).collect();
        (begun, tid, ends.len())
    };
    let ((outer, thread, ends), (inner, of_span, _)) = (edges("call from outside"), edges("inside"));
    assert!(outer < inner && thread == of_span, "{items:?}");
    assert_eq!(ends, 2);
    // Nobody records, so there is nothing to see.
    pool.install(|| ());
    assert!(pool.stop_trace().events().is_empty());
}
