//! A program that does a bit of everything, with names that a page must show as the text that they are. `check/browser.sh` looks at it with
//! `HEIST_LIVE`.

use heist::prelude::*;
use heist::task::Builder;
use heist::tick::{self, Next};
use std::time::{Duration, Instant};

const NAMES: [&str; 6] = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "accept connections",
    "a task with a rather long name, because somebody formats a whole request into it: GET /api/v1/things/42?with=query&and=more",
    "read a socket",
    "\u{1f980} crab",
];

fn main() {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(60);
    let end = Instant::now() + Duration::from_secs(seconds);
    let pool = heist::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
    for n in 0..40 {
        let pause = Duration::from_millis(20 + 70 * n);
        let name =
            NAMES.get(n as usize).map_or_else(|| format!("worker of queue {n}"), |name| String::from(*name));
        Builder::new().name(name).spawn_in(&pool, async move {
            loop {
                heist::time::sleep(pause).await;
            }
        });
    }
    Builder::new().name("thumbnails of <b>holiday</b>").spawn_in(&pool, async {
        loop {
            heist::time::sleep(Duration::from_millis(300)).await;
            std::thread::sleep(Duration::from_millis(80));
        }
    });
    for (name, period, takes) in [("region <0>", 50, 4), ("region 1", 50, 70), ("autosave", 60_000, 30)] {
        tick::every(Duration::from_millis(period)).name(name).spawn_on(&pool, move |_| {
            std::thread::sleep(Duration::from_millis(takes));
            Next::Continue
        });
    }
    while Instant::now() < end {
        // One worker has all the work, and the others steal it.
        pool.scope(|scope| {
            for n in 0..40 {
                scope.spawn(move |_| match n % 8 {
                    0 => drop((0..200_000_u64).into_par_iter().map(|n| n * n % 7).sum::<u64>()),
                    1 => heist::blocking(|| std::thread::sleep(Duration::from_millis(90))),
                    _ => std::thread::sleep(Duration::from_millis(30)),
                });
            }
        });
        std::thread::sleep(Duration::from_millis(100));
    }
}
