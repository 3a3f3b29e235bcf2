//! One worker is stuck in a run, and other ticks are due behind it.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use heist::tick::{self, Next, Report};

use super::{MS, WORKERS, pool, table};
use crate::churn::{churn, steps_for};
use crate::race::Plan;
use crate::report::{Bar, Row, Sense, Table};
use crate::tasks::figures::{Figures, quantile};

const STUCK: Duration = Duration::from_millis(500);
const BEHIND: usize = 50;
const COST: Duration = Duration::from_micros(20);
/// Longer than everything here, so that each tick runs once.
const PERIOD: Duration = Duration::from_secs(60);
/// Until the worker is stuck, and from then until the others are due.
const LEAD: Duration = Duration::from_millis(50);
const DUE: Duration = Duration::from_millis(20);

const STEAL_AFTER: Duration = Duration::from_millis(3);
/// So much later than that.
const MORE: Duration = Duration::from_millis(2);
const SHARE_MIN: f64 = 0.95;
/// What is pinned is told of after so long.
const WATCHDOG: Duration = Duration::from_millis(100);
const PINNED: &str = "pinned behind";

pub fn rows(plan: &mut Plan) -> Option<Table> {
    let title = format!(
        "one of {WORKERS} workers stuck for {} ms, {BEHIND} ticks of {} us due behind it",
        STUCK.as_millis(),
        COST.as_micros()
    );
    if !plan.wants_row(&title) {
        return None;
    }
    let told = Arc::new(AtomicUsize::new(0));
    tick::on_report({
        let told = Arc::clone(&told);
        move |report| match report {
            Report::Unserved { name: Some(name), is_pinned: true, .. } if name == PINNED => {
                told.fetch_add(1, Ordering::Relaxed);
            }
            report => eprintln!("{report}"),
        }
    });
    let rounds = plan.rounds(5, 5);
    let rounds: Vec<Vec<f64>> = (0..rounds).map(|_| round()).collect();
    let limit = (STEAL_AFTER + MORE).as_nanos() as f64;
    let in_time =
        |late: &Vec<f64>| late.iter().filter(|&&late| late <= limit).count() as f64 / late.len() as f64;
    let shares: Vec<f64> = rounds.iter().map(in_time).collect();
    let worst: Vec<f64> = rounds.iter().map(|late| quantile(late, 1.0) / MS).collect();
    let figures =
        |of: &[f64]| Figures { best: quantile(of, 0.0), median: quantile(of, 0.5), samples: of.len() };
    let bar = |measured, what: &str, sense, limit| Bar { measured, what: what.into(), sense, limit };
    let share = figures(&shares);
    let missing = (rounds.len() as f64) - told.load(Ordering::Relaxed) as f64;
    let told = Figures { best: missing, median: missing, samples: rounds.len() };
    let in_time = format!("share within {} ms", (STEAL_AFTER + MORE).as_millis());
    let rows: Vec<Row> = vec![
        super::row(&in_time, share, vec![bar(share.median, "of all", Sense::AtLeast, SHARE_MIN)]),
        super::row("the latest, ms", figures(&worst), Vec::new()),
        super::row(
            "pinned ones that the watchdog missed",
            told,
            vec![bar(missing, "ticks", Sense::AtMost, 0.0)],
        ),
    ];
    Some(table(title, "see each row", rows))
}

/// How late those behind the stuck one began.
fn round() -> Vec<f64> {
    let pool = pool();
    let steps = steps_for(COST.as_nanos() as f64);
    let start = Instant::now() + LEAD;
    let decoy = || tick::every(PERIOD).start_at(start + PERIOD).spawn_on(&pool, |_| Next::Stop);
    // As long as none has run, new ticks go to both workers in turn: every other one is a decoy.
    let mut decoys = Vec::new();
    let stuck = tick::every(PERIOD).start_at(start).spawn_on(&pool, |_| {
        let begun = Instant::now();
        while begun.elapsed() < STUCK {
            spin_loop();
        }
        Next::Stop
    });
    decoys.push(decoy());
    let pinned = tick::every(PERIOD)
        .name(PINNED)
        .start_at(start + DUE)
        .watchdog(WATCHDOG)
        .pinned()
        .spawn_on(&pool, |_| Next::Stop);
    decoys.push(decoy());
    let (send, late) = mpsc::channel();
    for _ in 0..BEHIND {
        let send = send.clone();
        let behind = tick::every(PERIOD).start_at(start + DUE).steal_after(STEAL_AFTER);
        behind.spawn_on(&pool, move |cx| {
            send.send(cx.lateness().as_nanos() as f64).expect("the round waits");
            black_box(churn(0, steps));
            Next::Stop
        });
        decoys.push(decoy());
    }
    drop(send);
    for decoy in &decoys {
        decoy.cancel_and_wait();
    }
    assert!(Instant::now() < start, "all are spawned before the worker is stuck");
    thread::sleep(LEAD + STUCK);
    stuck.wait().expect("no tick panics");
    pinned.wait().expect("no tick panics");
    late.iter().collect()
}
