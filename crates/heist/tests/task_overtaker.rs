//! Tasks that run without an index, because every holder of one is inside of a long turn: their jobs still run with one.

#[path = "rig/watchdog.rs"]
mod watchdog;

use heist::prelude::*;
use heist::{ThreadPoolBuilder, current_thread_index};
use std::sync::mpsc::channel;
use watchdog::watch;

/// What a task calls to use the pool, and whether each job had an index below `n`.
type Door = fn(usize) -> bool;

fn has_index(n: usize) -> bool {
    current_thread_index().is_some_and(|index| index < n)
}

const DOORS: [(&str, Door); 6] = [
    ("join", |n| heist::join(move || has_index(n), move || has_index(n)) == (true, true)),
    ("fork", |n| heist::fork(move |f| f.join(move |_| has_index(n), move |_| has_index(n))) == (true, true)),
    ("scope", |n| {
        let mut fine = [false; 3];
        heist::scope(|s| {
            for place in &mut fine {
                s.spawn(move |_| *place = has_index(n));
            }
        });
        fine == [true; 3]
    }),
    ("par_iter", |n| (0..1000).into_par_iter().all(|_| has_index(n))),
    ("spawn", |n| {
        let (send, receive) = channel();
        heist::spawn(move || send.send(has_index(n)).unwrap());
        heist::blocking(|| receive.recv().unwrap())
    }),
    ("install", |n| heist::scope(|_| has_index(n))),
];

#[test]
fn jobs_of_an_overtaking_task_have_an_index() {
    let _watch = watch!();
    for n in [1, 2] {
        for (name, door) in DOORS {
            let pool = ThreadPoolBuilder::new().num_threads(n).build().unwrap();
            let (begun, all_begun) = channel();
            let (go_on, may_go_on): (Vec<_>, Vec<_>) = (0..n).map(|_| channel::<()>()).unzip();
            let blockers: Vec<_> = may_go_on
                .into_iter()
                .map(|may_go_on| {
                    let begun = begun.clone();
                    pool.spawn_task(async move {
                        begun.send(()).unwrap();
                        // Unannounced, and for as long as the task below likes.
                        may_go_on.recv().unwrap();
                    })
                })
                .collect();
            (0..n).for_each(|_| all_begun.recv().unwrap());
            let task = pool.spawn_task(async move {
                // Every index is in use, so this runs without one.
                let index = current_thread_index();
                // The jobs below need an index, so its holders must go on.
                for holder in go_on {
                    holder.send(()).unwrap();
                }
                (index, door(n))
            });
            let (index, fine) = pool.block_on(task).unwrap();
            assert_eq!(index, None, "{name}");
            assert!(fine, "{name} with {n} workers ran a job without an index");
            for blocker in blockers {
                pool.block_on(blocker).unwrap();
            }
        }
    }
}
