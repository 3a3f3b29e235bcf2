//! Ticks that are paused must cost nothing: no thread of the process wakes up.

use std::thread;
use std::time::Duration;

use heist::tick::{self, Handle, Next};

use super::{WORKERS, pool, row, table};
use crate::process::Switches;
use crate::race::Plan;
use crate::report::{Bar, Sense, Table};
use crate::tasks::figures::Figures;

const TICKS: usize = 1000;
const PERIOD: Duration = Duration::from_millis(50);
/// The last runs end, and the pool falls asleep.
const SETTLE: Duration = Duration::from_millis(1500);

pub fn switches(plan: &mut Plan) -> Option<Table> {
    let title = format!("{TICKS} paused ticks on an idle pool, {WORKERS} workers");
    if !plan.wants_row(&title) {
        return None;
    }
    let main_thread = std::fs::read_to_string("/proc/self/comm").expect("the main thread has a name");
    let pool = pool();
    let ticks: Vec<_> = (0..TICKS).map(|_| tick::every(PERIOD).spawn_on(&pool, |_| Next::Continue)).collect();
    ticks.iter().for_each(Handle::pause);
    thread::sleep(SETTLE);
    let before = Switches::now(main_thread.trim());
    thread::sleep(Duration::from_secs(plan.size(5, 2)));
    let spent = Switches::now(main_thread.trim()).since(before);
    let switches = spent.voluntary as f64;
    let figures = Figures { best: switches, median: switches, samples: 1 };
    let bar = Bar { measured: switches, what: "switches".into(), sense: Sense::AtMost, limit: 0.0 };
    Some(table(
        title,
        "voluntary switches of all threads but the main one",
        vec![row("heist", figures, vec![bar])],
    ))
}
