//! Those who look, and how many.

use crate::client::{Client, Events};
use std::io::Read;

#[test]
fn frames_come_and_the_ninth_viewer_is_told_to_wait() {
    let live = heist::live::serve("127.0.0.1:0").unwrap();
    let client = Client::of(&live);
    let mut all: Vec<Events> = (0..8).map(|_| client.events()).collect();
    for events in &mut all {
        assert_eq!(events.status(), 200);
        let first = events.wait("a frame", |_| true);
        let second = events.wait("another frame", |_| true);
        assert!(second["seq"].as_u64() > first["seq"].as_u64());
        assert!(second["at"].as_f64() > first["at"].as_f64());
    }
    let refused = client.get("/events");
    assert_eq!(refused.status, 503);
    assert!(refused.body.contains("8 pages look at this program already"), "{}", refused.body);
    // The page and single frames are there for everybody.
    assert_eq!(client.get("/").status, 200);
    client.frame();
    all.pop();
    // The server notices when it writes next.
    loop {
        let mut events = client.events();
        if events.status() == 200 {
            events.wait("a frame", |_| true);
            break;
        }
        let _ = events.lines.read_to_end(&mut Vec::new());
    }
}

/// One who does not read for a while is not told old news, but how much it has missed; the others go on.
#[test]
fn a_slow_client_skips_and_is_told_how_many() {
    let pool = heist::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let name = "a name that makes the frames long ".repeat(10);
    let spawn = |_| heist::task::Builder::new().name(&name).spawn_in(&pool, std::future::pending::<()>());
    let tasks: Vec<_> = (0..500).map(spawn).collect();
    let live = heist::live::serve("127.0.0.1:0").unwrap();
    let client = Client::of(&live);
    let (mut slow, mut fast) = (client.events(), client.events());
    assert_eq!((slow.status(), fast.status()), (200, 200));
    slow.wait("a frame", |_| true);
    // 4 s of frames, much more than fits between the two.
    let mut before = None;
    for _ in 0..80 {
        let (name, event) = fast.next();
        if name == "frame" {
            assert!(event["seq"].as_u64() > before);
            before = event["seq"].as_u64();
        }
    }
    let mut skipped = None;
    let mut last = None;
    for _ in 0..200 {
        let (name, event) = slow.next();
        if name == "skipped" {
            skipped = event.as_u64();
        } else if let Some(skipped) = skipped {
            let seq = event["seq"].as_u64().unwrap();
            assert_eq!(last, Some(seq - skipped - 1), "what it was told is what it has missed");
            tasks.iter().for_each(|task| task.abort());
            return;
        } else {
            last = event["seq"].as_u64();
        }
    }
    panic!("nothing was skipped");
}
