//! From a wake on a foreign thread until the task runs, when the workers have been idle.

use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::unbounded_channel;

use super::figures::{Figures, Limit, both, compare_by};
use super::runtime::Runtime;
use crate::race::Plan;
use crate::report::{Judged, Row, Table};
use crate::visit::Visit;

const GAP: Duration = Duration::from_millis(10);
const WAKES: usize = 50;
const US: f64 = 1e3;

pub fn table(plan: &mut Plan) -> Option<Table> {
    if !plan.wants_row("wake from parked") {
        return None;
    }
    let series = both!(plan, plan.rounds(12, 3), |R| wakes::<R>(WAKES));
    let row = |share: f64| -> Row {
        let name = format!("p{}", share * 100.0);
        compare_by(&name, &series, &[Limit::Ratio(1.0)], |series| Figures::quantile(series, share, US))
    };
    let title = format!("wake from parked: a message from outside every {} ms", GAP.as_millis());
    Some(Table::with_rows("tasks", title, "us", Judged::Median, vec![row(0.5), row(0.99)]))
}

fn wakes<R: Runtime>(count: usize) -> Visit<usize> {
    let (call, mut called) = unbounded_channel::<Instant>();
    let (answer, answered) = channel();
    drop(R::spawn_from_outside(async move {
        while let Some(at) = called.recv().await {
            answer.send(at.elapsed()).expect("somebody waits for the answer");
        }
    }));
    let mut samples_ns = Vec::with_capacity(count);
    for _ in 0..count {
        thread::sleep(GAP);
        call.send(Instant::now()).expect("the task goes on");
        samples_ns.push(answered.recv().expect("the task answers").as_nanos() as f64);
    }
    Visit { value: count, samples_ns }
}
