//! What a frame shows of a program.

use crate::client::Client;
use serde_json::Value;
use std::sync::mpsc::channel;
use std::time::Duration;

/// The pool with so many workers; each test has a number of its own.
fn pool(frame: &Value, workers: usize) -> Option<&Value> {
    let has = |pool: &&Value| pool["workers"].as_array().unwrap().len() == workers;
    frame["pools"].as_array().unwrap().iter().find(has)
}

fn count(pool: &Value, state: &str) -> usize {
    pool["workers"].as_array().unwrap().iter().filter(|worker| worker["state"] == state).count()
}

/// The view works while nothing else does, and says who blocks and what waits behind it.
#[test]
fn it_works_while_every_worker_is_blocked() {
    let blocked = heist::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let (send, receive) = channel::<()>();
    let receive = std::sync::Arc::new(std::sync::Mutex::new(receive));
    for _ in 0..10 {
        let receive = std::sync::Arc::clone(&receive);
        blocked.spawn(move || {
            let _ = receive.lock().unwrap().recv();
        });
    }
    let live = heist::live::serve("127.0.0.1:0").unwrap();
    let client = Client::of(&live);
    let mut events = client.events();
    let is_stuck = |frame: &Value| {
        pool(frame, 3).is_some_and(|pool| count(pool, "blocked") == 3 && pool["injected_jobs"] == 7)
    };
    // Where the system tells nothing of threads, they are inside of jobs, and that is all that is known.
    let is_busy = |frame: &Value| {
        pool(frame, 3).is_some_and(|pool| count(pool, "working") + count(pool, "blocked") == 3)
    };
    let is_known = std::env::var_os("HEIST_OS_HINTS").is_none() && cfg!(target_os = "linux");
    let frame =
        events.wait("three workers in jobs", |frame| if is_known { is_stuck(frame) } else { is_busy(frame) });
    let worker = &pool(&frame, 3).unwrap()["workers"][0];
    assert_eq!(worker["does"], "job");
    assert!(worker["runs"].as_str().unwrap().contains("looks.rs:"), "{worker}");
    drop(send);
    events.wait("three workers without work", |frame| {
        pool(frame, 3).is_some_and(|pool| count(pool, "parked") == 3)
    });
}

#[test]
fn ten_thousand_tasks_with_long_and_nasty_names_fit() {
    let many = heist::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let name = |n: usize| match n {
        0 => "<img src=x onerror=alert(1)>".into(),
        1 => "</script><script>alert(1)</script>".into(),
        n => format!("{n} {}", "long \u{1}\u{2028}\"\\".repeat(500)),
    };
    let spawn = |n| heist::task::Builder::new().name(name(n)).spawn_in(&many, std::future::pending::<()>());
    let tasks: Vec<_> = (0..10_000).map(spawn).collect();
    let live = heist::live::serve("127.0.0.1:0").unwrap();
    let client = Client::of(&live);
    let frame = loop {
        let answer = client.get("/frame.json");
        assert!(answer.body.len() <= 64 << 10 && !answer.body.contains('<'), "{} bytes", answer.body.len());
        let frame: Value = serde_json::from_str(&answer.body).unwrap();
        if frame["tasks"]["total"].as_u64().unwrap() >= 10_000 {
            break frame;
        }
    };
    let rows = frame["tasks"]["rows"].as_array().unwrap();
    assert!(rows.len() > 5);
    assert_eq!(
        rows.len() as u64 + frame["tasks"]["left"].as_u64().unwrap(),
        frame["tasks"]["total"].as_u64().unwrap()
    );
    tasks.iter().for_each(|task| task.abort());
}

#[test]
fn polls_are_counted_while_somebody_looks() {
    let pool = heist::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let (send, receive) = channel::<u32>();
    let _task = heist::task::Builder::new().name("counted").spawn_in(&pool, async move {
        loop {
            for _ in 0..receive.try_recv().unwrap_or(0) {
                heist::task::yield_now().await;
            }
            heist::time::sleep(Duration::from_millis(1)).await;
        }
    });
    let live = heist::live::serve("127.0.0.1:0").unwrap();
    let client = Client::of(&live);
    let polls = |frame: &Value| {
        let rows = frame["tasks"]["rows"].as_array().unwrap();
        rows.iter().find(|row| row["name"] == "counted").map_or(0, |row| row["polls"].as_u64().unwrap())
    };
    let mut events = client.events();
    let before = polls(&events.wait("some polls", |frame| polls(frame) > 0));
    send.send(1_000).unwrap();
    events.wait("a thousand more", |frame| polls(frame) >= before + 1_000);
    let lately = client.events().wait("a frame for another one", |frame| polls(frame) > 0);
    assert!(polls(&lately) > 1_000, "they are counted since the first looks");
}

#[test]
fn slow_tasks_and_ticks_are_named() {
    use heist::tick::{self, Next};
    let pool = heist::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
    let tick = tick::every(Duration::from_millis(20)).name("region <7>").spawn_on(&pool, |_| Next::Continue);
    let (send, receive) = channel::<()>();
    heist::task::Builder::new().name("a long poll").spawn_in(&pool, async move {
        let _ = receive.recv();
    });
    let live = heist::live::serve("127.0.0.1:0").unwrap();
    let mut events = Client::of(&live).events();
    let named = |list: &Value, name: &str| list.as_array().unwrap().iter().any(|row| row["name"] == name);
    let frame = events.wait("the slow task and the tick", |frame| {
        named(&frame["slow"], "a long poll") && named(&frame["ticks"], "region <7>")
    });
    let ticks = frame["ticks"].as_array().unwrap();
    assert_eq!(ticks.iter().find(|row| row["name"] == "region <7>").unwrap()["period"], 20.0);
    drop(send);
    events.wait("the end of that poll", |frame| {
        let slow = frame["slow"].as_array().unwrap();
        slow.iter().any(|row| row["name"] == "a long poll" && row["running"] == false)
    });
    tick.cancel_and_wait();
    events.wait("the end of the tick", |frame| !named(&frame["ticks"], "region <7>"));
}
