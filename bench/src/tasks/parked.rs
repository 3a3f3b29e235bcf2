//! The memory of a million tasks that wait for nothing, in a process of its own.

use std::fs;
use std::future;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use super::figures::{Figures, Limit, row};
use super::runtime::{Runtime, Tokio};
use crate::args::Async;
use crate::process;
use crate::race::Plan;
use crate::report::{Judged, Table};

const TASKS: usize = 1_000_000;
const BYTES_MAX: f64 = 128.0;

pub fn table(plan: &Plan) -> Option<Table> {
    if !plan.wants_row("parked") {
        return None;
    }
    let figures = |runtime: Async| {
        let bytes: f64 = process::run_alone(&["parked", runtime.word(), &TASKS.to_string()]);
        Figures { best: bytes, median: bytes, samples: 1 }
    };
    let row = row(
        &format!("{TASKS} parked tasks"),
        figures(Async::Tokio),
        #[cfg(feature = "heist")]
        Some(figures(Async::Heist)),
        #[cfg(not(feature = "heist"))]
        None,
        &[Limit::Figure(BYTES_MAX)],
    );
    Some(Table::with_rows(
        "tasks",
        "resident memory of a bare parked task",
        "bytes",
        Judged::Median,
        vec![row],
    ))
}

/// Answers with the bytes a task.
pub fn alone(runtime: Async, tasks: usize) {
    let bytes = match runtime {
        Async::Tokio => bytes::<Tokio>(tasks),
        #[cfg(feature = "heist")]
        Async::Heist => bytes::<super::runtime::Heist>(tasks),
    };
    process::answer(&bytes);
}

fn bytes<R: Runtime>(tasks: usize) -> f64 {
    let (polled, all_polled) = channel();
    let (handles, before) = R::block_on(async {
        // Spawned by a task, so that they come from where tasks mostly come from.
        let spawner = R::spawn(async move {
            let polled = Arc::new(Last(polled));
            // Handles are kept, because a task that nobody can wake or await need not be kept, either. Their places are
            // written to first: they are no part of the task.
            let mut handles = Vec::new();
            handles.resize_with(tasks, || None);
            let before = resident();
            for handle in &mut handles {
                let polled = Arc::clone(&polled);
                *handle = Some(R::spawn(async move {
                    drop(polled);
                    future::pending::<()>().await;
                }));
            }
            (handles, before)
        });
        spawner.await.expect("the spawner does not panic")
    });
    all_polled.recv().expect("the last task to be polled tells");
    let after = resident();
    assert_eq!(handles.iter().flatten().count(), tasks);
    (after - before) as f64 / tasks as f64
}

/// Tells when its last clone is gone.
struct Last(Sender<()>);

impl Drop for Last {
    fn drop(&mut self) {
        self.0.send(()).expect("somebody waits for the last task");
    }
}

fn resident() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").expect("/proc/self/statm says what memory is used");
    let pages = statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.expect("the second field of statm is resident pages") * rustix::param::page_size() as u64
}
