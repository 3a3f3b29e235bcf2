//! A handful of long items, and a loop after a pause, from the main thread: is everybody at work, and how soon?

use std::hint::black_box;
use std::thread;
use std::time::Duration;

use super::{PLAIN, Place, RAYON, pools::Pools, race, row};
use crate::churn::steps_for;
use crate::iters::inputs::numbers;
use crate::race::Plan;
use crate::report::{Judged, Table};
use crate::visit::{Visit, once, repeat};

const IDLE: Duration = Duration::from_millis(10);

/// Of the plain loop.
const HEAVY_MAX: f64 = 0.55;
/// The same for items of 1 ms after a pause: waking a core takes a share of these.
const HEAVY_COLD_1_MS_MAX: f64 = 0.65;
/// A loop of 1 ms in all, and one of 100 us, after a pause.
const COLD_1_MS_MAX: f64 = 0.65;
const COLD_100_US_MAX: f64 = 1.05;
const COLD_ITEMS: usize = 1_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Everyone has slept for 10 ms.
    Cold,
    /// The same has just run.
    Warm,
}

pub fn tables(plan: &mut Plan, pools: &Pools) -> Vec<Table> {
    let states = [
        (State::Cold, "whole items after 10 ms of idleness, from the main thread"),
        (State::Warm, "whole items one after the other, from the main thread"),
    ];
    let mut tables = Vec::new();
    for (state, title) in states {
        let mut rows = Vec::new();
        for (ms, items) in [1, 10].into_iter().flat_map(|ms| [2, 4, 8].map(|items| (ms, items))) {
            let name = format!("{items} items of {ms} ms");
            if plan.wants_row(&name) {
                let (v, steps) = (&numbers(items)[..], steps_for(f64::from(ms) * 1e6));
                let series = race!(plan, plan.rounds(31, 7), pools, Place::Outside, |on, _shape| sample(
                    state,
                    || { on::items(black_box(v), steps) }
                ));
                rows.push(row(name, &series, ("ms", 1e6), &[(PLAIN, Some(limit(state, ms))), (RAYON, None)]));
            }
        }
        if !rows.is_empty() {
            let title = format!("{title}, {} workers", super::WORKERS);
            tables.push(Table::with_rows("everyday", title, "ms", Judged::Median, rows));
        }
    }
    let mut rows = Vec::new();
    for (us, limit) in [(1_000, COLD_1_MS_MAX), (100, COLD_100_US_MAX)] {
        let name = format!("cold loop, {COLD_ITEMS} items, {us} us in all");
        if plan.wants_row(&name) {
            let (v, steps) = (&numbers(COLD_ITEMS)[..], steps_for(f64::from(us) * 1e3 / COLD_ITEMS as f64));
            let series = race!(plan, plan.rounds(101, 21), pools, Place::Outside, |on, _shape| sample(
                State::Cold,
                || { on::items(black_box(v), steps) }
            ));
            rows.push(row(name, &series, ("us", 1e3), &[(PLAIN, Some(limit)), (RAYON, None)]));
        }
    }
    if !rows.is_empty() {
        let title = "a loop after 10 ms of idleness, from the main thread";
        tables.push(Table::with_rows("everyday", title, "us", Judged::Median, rows));
    }
    tables
}

fn limit(state: State, ms: u32) -> f64 {
    if state == State::Cold && ms == 1 { HEAVY_COLD_1_MS_MAX } else { HEAVY_MAX }
}

fn sample<V>(state: State, work: impl FnMut() -> V) -> Visit<V> {
    match state {
        State::Cold => {
            thread::sleep(IDLE);
            once(work)
        }
        State::Warm => repeat(1, 1, work),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_short_items_after_a_pause_have_the_softer_bar() {
        let limits =
            [(State::Cold, 1), (State::Cold, 10), (State::Warm, 1)].map(|(state, ms)| limit(state, ms));
        assert_eq!(limits, [HEAVY_COLD_1_MS_MAX, HEAVY_MAX, HEAVY_MAX]);
    }
}
