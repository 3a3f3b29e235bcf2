//! A message from a foreign thread wakes a task. The channel is tokio's on both runtimes.

use std::time::Instant;

use tokio::sync::mpsc::unbounded_channel;

use super::GAP;
use crate::beside::shift::Shift;
use crate::tasks::runtime::Runtime;

pub fn run<R: Runtime>(shift: &Shift) -> Vec<f64> {
    let (call, mut called) = unbounded_channel::<Instant>();
    let task = R::spawn_from_outside(async move {
        let mut latencies_ns = Vec::new();
        while let Some(at) = called.recv().await {
            latencies_ns.push(at.elapsed().as_nanos() as f64);
        }
        latencies_ns
    });
    shift.begin();
    shift.every(GAP, || call.send(Instant::now()).expect("the task goes on"));
    drop(call);
    R::block_on(async { task.await.expect("the task does not panic") })
}
