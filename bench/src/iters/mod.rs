//! Parallel iterators: heist against rayon, the same source on both, at small, middle and large sizes.
//!
//! The workloads are in `work/`; that folder is compiled twice, and `lib` is the library under test.

pub mod inputs;
mod loops;
pub mod memory;
mod rows;
pub mod sorts;

use crate::race::Plan;
use crate::report::{Bar, Judged, Row, Sense, Table};

/// The workloads on rayon.
#[path = "work"]
mod on_rayon {
    use ::rayon as lib;

    #[path = "mod.rs"]
    #[allow(clippy::duplicate_mod, reason = "the same source for both is the point")]
    pub mod work;
}

/// The workloads on heist.
#[cfg(feature = "heist")]
#[path = "work"]
mod on_heist {
    use ::heist as lib;

    #[path = "mod.rs"]
    #[allow(clippy::duplicate_mod, reason = "the same source for both is the point")]
    pub mod work;
}

const WORKERS: usize = 2;

/// The geometric mean over all rows, in terms of rayon.
const MEAN_MAX: f64 = 0.9;
/// Any row.
const ROW_MAX: f64 = 1.10;
/// A row of small size: there the price of going parallel is all there is to lose.
const SMALL_MAX: f64 = 0.6;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Size {
    Small,
    Middle,
    Large,
}

impl Size {
    const ALL: [Size; 3] = [Size::Small, Size::Middle, Size::Large];

    fn title(self) -> &'static str {
        match self {
            Size::Small => "small inputs",
            Size::Middle => "middle-sized inputs",
            Size::Large => "large inputs",
        }
    }

    fn limit(self) -> f64 {
        match self {
            Size::Small => SMALL_MAX,
            Size::Middle | Size::Large => ROW_MAX,
        }
    }
}

/// One workload at one size: what both took.
pub struct Outcome {
    pub size: Size,
    pub name: String,
    pub items: usize,
    pub rayon: Figures,
    pub heist: Option<Figures>,
}

/// In microseconds.
#[derive(Clone, Copy)]
pub struct Figures {
    pub best: f64,
    pub median: f64,
    pub samples: usize,
}

pub fn line(plan: &mut Plan) -> Vec<Table> {
    let outcomes = rows::run(plan);
    let mut tables: Vec<Table> = Size::ALL.iter().filter_map(|size| table(*size, &outcomes)).collect();
    tables.extend(overall(&outcomes));
    tables.extend(loops::tables(plan));
    tables.extend(memory::table(plan));
    tables
}

fn table(size: Size, outcomes: &[Outcome]) -> Option<Table> {
    let mine: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.size == size).collect();
    if mine.is_empty() {
        return None;
    }
    let rows = mine.iter().map(|outcome| outcome.row()).collect();
    let title = format!("{}, {WORKERS} workers", size.title());
    Some(Table::with_rows("iters", title, "us", Judged::Median, rows))
}

impl Outcome {
    /// heist's times, with rayon's in the bar; rayon's where heist is not there.
    fn row(&self) -> Row {
        let Figures { best, median, samples } = self.heist.unwrap_or(self.rayon);
        let bars = self.ratio().map(|measured| Bar {
            measured,
            what: format!("x rayon, {:.2} us", self.rayon.median),
            sense: Sense::AtMost,
            limit: self.size.limit(),
        });
        let name = format!("{}, {}", self.name, self.items);
        Row { name, best, median, samples, bars: bars.into_iter().collect() }
    }

    fn ratio(&self) -> Option<f64> {
        self.heist.map(|heist| heist.median / self.rayon.median)
    }
}

/// The geometric means.
fn overall(outcomes: &[Outcome]) -> Option<Table> {
    let mean = |size: Option<Size>| {
        let wanted = outcomes.iter().filter(|outcome| size.is_none_or(|size| outcome.size == size));
        let pairs: Vec<_> =
            wanted.filter_map(|outcome| outcome.heist.map(|heist| (heist, outcome.rayon))).collect();
        let mean = |figure: fn(&Figures) -> f64| {
            let logs = pairs.iter().map(|(heist, rayon)| (figure(heist) / figure(rayon)).ln());
            (logs.sum::<f64>() / pairs.len() as f64).exp()
        };
        let (best, median) = (mean(|figures| figures.best), mean(|figures| figures.median));
        let name = size.map_or("all", Size::title).to_owned();
        (!pairs.is_empty()).then_some(Row { name, best, median, samples: pairs.len(), bars: Vec::new() })
    };
    let mut all = mean(None)?;
    all.bars.push(Bar {
        measured: all.median,
        what: "x rayon".into(),
        sense: Sense::AtMost,
        limit: MEAN_MAX,
    });
    let rows = Size::ALL.iter().filter_map(|size| mean(Some(*size))).chain([all]).collect();
    Some(Table::with_rows(
        "iters",
        "geometric mean of the ratios; samples are rows",
        "x rayon",
        Judged::Median,
        rows,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(size: Size, heist: f64, rayon: f64) -> Outcome {
        let figures = |us| Figures { best: us, median: us, samples: 1 };
        Outcome { size, name: "some".into(), items: 1, rayon: figures(rayon), heist: Some(figures(heist)) }
    }

    #[test]
    fn the_mean_is_geometric() {
        let outcomes = [outcome(Size::Small, 1.0, 4.0), outcome(Size::Large, 1.0, 1.0)];
        let table = overall(&outcomes).expect("there are rows");
        let all = table.rows.last().expect("the last row is about all");
        assert!((all.median - 0.5).abs() < 1e-9, "{}", all.median);
        assert!(all.bars[0].is_met());
    }

    #[test]
    fn small_rows_have_the_sharper_bar() {
        for (size, met) in [(Size::Small, false), (Size::Middle, true), (Size::Large, true)] {
            assert_eq!(outcome(size, 0.7, 1.0).row().bars[0].is_met(), met, "{size:?}");
        }
    }
}
