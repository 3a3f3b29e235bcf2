//! Tasks that sleep for 10 ms at a time: how late are they?

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::beside::shift::Shift;
use crate::tasks::runtime::Runtime;

const SLEEP: Duration = Duration::from_millis(10);
/// Evenly apart, so that there are about as many samples as of the other probes.
const TASKS: u32 = 3;

pub fn run<R: Runtime>(shift: &Arc<Shift>) -> Vec<f64> {
    R::block_on(async { R::sleep(SLEEP).await });
    shift.begin();
    let start = Instant::now();
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| R::spawn_from_outside(sleeper::<R>(start + SLEEP * task / TASKS, Arc::clone(shift))))
        .collect();
    let mut latencies_ns = Vec::new();
    R::block_on(async {
        for task in tasks {
            latencies_ns.extend(task.await.expect("no sleeper panics"));
        }
    });
    latencies_ns
}

/// Each deadline follows from the one before, so that a late timer does not put off the next.
async fn sleeper<R: Runtime>(start: Instant, shift: Arc<Shift>) -> Vec<f64> {
    let mut late_ns = Vec::new();
    let mut deadline = start + SLEEP;
    while shift.counts(deadline) {
        R::sleep_until(deadline).await;
        late_ns.push(deadline.elapsed().as_nanos() as f64);
        deadline += SLEEP;
    }
    late_ns
}
