//! Loops of light items at five sizes: most are too short to gain anything by sharing, and none may lose by it.

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::{HEIST, PLAIN, Place, RAYON, find, pools::Pools, race};
use crate::churn::steps_for;
use crate::iters::inputs::numbers;
use crate::race::{Plan, Series};
use crate::report::{Bar, Judged, Row, Sense, Table};
use crate::visit::Visit;

/// A row may take so many times as long as the better of plain loop and rayon, and [`Place::slack_us`] more.
const ROW_MAX: f64 = 1.1;
/// So many of the rows may take longer than that,
const ABOVE_MAX: f64 = 0.05;
/// but none takes longer than this.
const WORST_MAX: f64 = 1.3;

const SIZES: &[usize] = &[100, 1_000, 10_000, 100_000, 3_000_000];

/// A sample lasts at least about this long, so that the clock's own price does not count.
const SAMPLE: Duration = Duration::from_micros(50);
/// What the samples of a visit may take together. Large inputs get one sample anyway.
const VISIT: Duration = Duration::from_millis(2);
const SAMPLES_MAX: usize = 15;

impl Place {
    /// What going parallel may cost beside the work itself.
    fn slack_us(self) -> f64 {
        match self {
            Place::Inside => 0.1,
            Place::Outside => 0.25,
        }
    }
}

/// One loop of one size: what everyone took, in microseconds.
struct Outcome {
    place: Place,
    name: String,
    items: usize,
    plain: f64,
    rayon: f64,
    heist: Option<f64>,
    best: f64,
    samples: usize,
}

pub fn tables(plan: &mut Plan, pools: &Pools) -> Vec<Table> {
    let outcomes: Vec<Outcome> = Place::ALL.into_iter().flat_map(|place| run(plan, pools, place)).collect();
    let mut tables: Vec<Table> = Place::ALL.into_iter().filter_map(|place| table(place, &outcomes)).collect();
    tables.extend(overall(&outcomes));
    tables
}

fn run(plan: &mut Plan, pools: &Pools, place: Place) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    let steps = steps_for(50.0);

    /// One loop: its name, its sizes, how to call it, and what to compare.
    macro_rules! row {
        ($name:literal, $sizes:expr, |$on:ident, $v:ident, $w:ident| $call:expr, |$out:ident| $digest:expr) => {
            if plan.wants_row($name) {
                for &items in $sizes {
                    let $v = &numbers(items)[..];
                    let $w = &numbers(items + 1)[1..];
                    let series = race!(plan, plan.rounds(31, 7), pools, place, |$on, shape| visit(
                        shape,
                        || {
                            // Else a compiler that sees a pure function calls it once for all.
                            let ($v, $w) = black_box(($v, $w));
                            $call
                        },
                        |$out| $digest
                    ));
                    outcomes.push(Outcome::of(place, $name, items, &series));
                }
            }
        };
    }
    row!("sum", SIZES, |on, v, _w| on::sum(v), |sum| *sum);
    row!("map + collect", SIZES, |on, v, _w| on::map_collect(v), |mapped| digest(mapped));
    row!("filter + collect", SIZES, |on, v, _w| on::filter_collect(v), |kept| digest(kept));
    row!("zip + sum", SIZES, |on, v, w| on::zip_sum(v, w), |sum| *sum);
    row!("flat_map_iter", SIZES, |on, v, _w| on::flat_map_iter(v), |sum| *sum);
    row!("chunks", SIZES, |on, v, _w| on::chunks(v), |sums| digest(sums));
    row!("any, after 1 %", SIZES, |on, v, _w| on::any(v), |is| u64::from(*is));
    row!("find_first, late", SIZES, |on, v, _w| on::find_first(v), |found| found.unwrap_or(0));
    row!("min_by_key", SIZES, |on, v, _w| on::min_by_key(v), |least| least.unwrap_or(0));
    row!("fold + reduce into a map", SIZES, |on, v, _w| on::fold_reduce(v), |counts| digest_map(counts));
    row!("50 ns items", SIZES, |on, v, _w| on::items(v, steps), |mixed| *mixed);
    outcomes
}

/// How many samples of how many calls a visit takes.
pub type Shape = OnceLock<(usize, u32)>;

/// As [`crate::visit::repeat`], with as many calls in a sample as it takes to be longer than the clock is coarse, and a value that
/// is made after the clock has stopped. Everyone has the same time, not the same number of calls; the first visit, which does not
/// count, finds out how many that are.
pub fn visit<O>(shape: &Shape, mut call: impl FnMut() -> O, digest: impl Fn(&O) -> u64) -> Visit<u64> {
    let (samples, batch) = *shape.get_or_init(|| {
        let one = (0..3)
            .map(|_| {
                let start = Instant::now();
                drop(black_box(call()));
                start.elapsed()
            })
            .min()
            .expect("there were calls")
            .max(Duration::from_nanos(20));
        let batch = SAMPLE.div_duration_f64(one).ceil();
        let samples = VISIT.div_duration_f64(one.mul_f64(batch)) as usize;
        (samples.clamp(1, SAMPLES_MAX), batch as u32)
    });
    crate::visit::repeat(samples, batch, call).map(|value| digest(&value))
}

/// Differs if the items differ, or their order.
fn digest(items: &[u64]) -> u64 {
    items.iter().fold(0xcbf2_9ce4_8422_2325, |hash, item| {
        (hash ^ item).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29)
    })
}

/// A map has no order.
fn digest_map(map: &HashMap<u64, u32>) -> u64 {
    map.iter().fold(0, |sum, (key, count)| sum ^ digest(&[*key, u64::from(*count)]))
}

impl Outcome {
    fn of(place: Place, name: &str, items: usize, series: &[Series]) -> Outcome {
        let us = |name: &str| find(series, name).map(|series| series.median_ns() / 1e3);
        let shown = find(series, HEIST).or(find(series, RAYON)).expect("rayon always takes part");
        Outcome {
            place,
            name: name.into(),
            items,
            plain: us(PLAIN).expect("the plain loop always takes part"),
            rayon: us(RAYON).expect("rayon always takes part"),
            heist: us(HEIST),
            best: shown.best_ns() / 1e3,
            samples: shown.samples_ns.len(),
        }
    }

    /// In terms of the better of the others, without the slack.
    fn ratio(&self) -> Option<f64> {
        let better = self.plain.min(self.rayon);
        self.heist.map(|heist| (heist - self.place.slack_us()).max(0.0) / better)
    }

    fn row(&self) -> Row {
        let Outcome { plain, rayon, .. } = self;
        let bars = self.ratio().map(|measured| {
            let what = if plain <= rayon {
                format!("x plain, {plain:.3} us (rayon {rayon:.3})")
            } else {
                format!("x rayon, {rayon:.3} us (plain {plain:.3})")
            };
            Bar { measured, what, sense: Sense::Counted, limit: ROW_MAX }
        });
        Row {
            name: format!("{}, {}", self.name, self.items),
            best: self.best,
            median: self.heist.unwrap_or(*rayon),
            samples: self.samples,
            bars: bars.into_iter().collect(),
        }
    }
}

fn table(place: Place, outcomes: &[Outcome]) -> Option<Table> {
    let rows: Vec<Row> = outcomes.iter().filter(|outcome| outcome.place == place).map(Outcome::row).collect();
    let title = format!(
        "light loops {}; ratios to the better of plain loop and rayon after {} us are taken off",
        place.title(),
        place.slack_us()
    );
    (!rows.is_empty()).then(|| Table::with_rows("everyday", title, "us", Judged::Median, rows))
}

/// How many rows are above the bar, and the worst one.
fn overall(outcomes: &[Outcome]) -> Option<Table> {
    let ratios: Vec<(f64, &Outcome)> =
        outcomes.iter().filter_map(|outcome| Some((outcome.ratio()?, outcome))).collect();
    let above = ratios.iter().filter(|(ratio, _)| *ratio > ROW_MAX).count();
    let (worst, at) = ratios.iter().max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    let row = |name: &str, figure: f64, what: String, limit: f64| Row {
        name: name.into(),
        best: figure,
        median: figure,
        samples: ratios.len(),
        bars: vec![Bar { measured: figure, what, sense: Sense::AtMost, limit }],
    };
    let share = above as f64 / ratios.len() as f64;
    let what = format!("of the rows, {above} of {}, take more than {ROW_MAX} x", ratios.len());
    let where_ = format!("x in {}, {}, {}", at.name, at.items, at.place.title());
    let rows = vec![
        row("rows above their bar", share, what, ABOVE_MAX),
        row("the worst row", *worst, where_, WORST_MAX),
    ];
    Some(Table::with_rows(
        "everyday",
        "light loops together; samples are rows",
        "ratio",
        Judged::Median,
        rows,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(place: Place, plain: f64, rayon: f64, heist: f64) -> Outcome {
        let (name, heist) = ("some".into(), Some(heist));
        Outcome { place, name, items: 1, plain, rayon, heist, best: 1.0, samples: 1 }
    }

    #[test]
    fn the_better_of_the_two_is_the_measure_and_the_slack_is_taken_off() {
        assert_eq!(outcome(Place::Inside, 1.0, 4.0, 1.1).ratio(), Some(1.0));
        assert_eq!(outcome(Place::Outside, 8.0, 4.0, 4.25).ratio(), Some(1.0));
        assert_eq!(outcome(Place::Outside, 0.01, 9.0, 0.2).ratio(), Some(0.0));
    }

    #[test]
    fn some_rows_may_be_above_but_none_by_much() {
        let met = |slow: &[f64]| -> Vec<bool> {
            let fast = std::iter::repeat_n(&1.0, 40 - slow.len());
            let outcomes: Vec<Outcome> = slow
                .iter()
                .chain(fast)
                .map(|ratio| outcome(Place::Inside, 10.0, 10.0, ratio * 10.0))
                .collect();
            let table = overall(&outcomes).expect("there are rows");
            table.rows.iter().map(|row| row.bars[0].is_met()).collect()
        };
        assert_eq!(met(&[]), [true, true]);
        assert_eq!(met(&[1.2, 1.2]), [true, true]);
        assert_eq!(met(&[1.2, 1.2, 1.2]), [false, true]);
        assert_eq!(met(&[1.4]), [true, false]);
        assert!(outcome(Place::Inside, 1.0, 1.0, 9.0).row().bars[0].is_met(), "counted, not judged");
    }

    #[test]
    fn all_three_compute_the_same() {
        use super::super::{on_rayon::work, plain};
        let (v, w) = (&numbers(1_000)[..], &numbers(1_001)[1..]);
        assert_eq!(work::sum(v), plain::sum(v));
        assert_eq!(work::map_collect(v), plain::map_collect(v));
        assert_eq!(work::filter_collect(v), plain::filter_collect(v));
        assert_eq!(work::zip_sum(v, w), plain::zip_sum(v, w));
        assert_eq!(work::flat_map_iter(v), plain::flat_map_iter(v));
        assert_eq!(work::chunks(v), plain::chunks(v));
        assert_eq!(work::any(v), plain::any(v));
        assert_eq!(work::find_first(v), plain::find_first(v));
        assert_eq!(work::min_by_key(v), plain::min_by_key(v));
        assert_eq!(work::fold_reduce(v), plain::fold_reduce(v));
        assert_eq!(work::items(v, 3), plain::items(v, 3));
        assert_eq!(work::bridge(1_000), plain::bridge(1_000));
        assert_eq!(work::bridge_items(1_000, 3), plain::bridge_items(1_000, 3));
    }
}
