//! A foreign thread spawns tasks, which tell how long they have waited for their first turn.

use std::sync::mpsc::channel;
use std::time::Instant;

use super::GAP;
use crate::beside::shift::Shift;
use crate::tasks::runtime::Runtime;

pub fn run<R: Runtime>(shift: &Shift) -> Vec<f64> {
    R::block_on(async { R::spawn(async {}).await.expect("an empty task does not panic") });
    shift.begin();
    let (latency, latencies) = channel();
    shift.every(GAP, || {
        let (latency, at) = (latency.clone(), Instant::now());
        drop(R::spawn_from_outside(async move {
            latency.send(at.elapsed().as_nanos() as f64).expect("somebody collects the latencies");
        }));
    });
    drop(latency);
    latencies.iter().collect()
}
