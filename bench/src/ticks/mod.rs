//! Ticks: how late they begin, by themselves, beside each other and beside a loop, and what they cost.

#[cfg(feature = "heist")]
mod beside;
mod cost;
#[cfg(feature = "heist")]
mod crowd;
#[cfg(feature = "heist")]
mod paused;
mod quiet;
#[cfg(feature = "heist")]
mod stuck;
#[cfg(feature = "heist")]
mod uneven;

use crate::race::{Plan, Series};
use crate::report::{Bar, Judged, Row, Sense, Table};
use crate::tasks::figures::Figures;
use crate::tasks::runtime::WORKERS;

const LINE: &str = "ticks";
const US: f64 = 1e3;
const MS: f64 = 1e6;

pub fn line(plan: &mut Plan) -> Vec<Table> {
    let mut tables = Vec::new();
    tables.extend(quiet::table(plan));
    #[cfg(feature = "heist")]
    {
        tables.extend(uneven::spread(plan));
        tables.extend(uneven::on_one(plan));
        tables.extend(beside::tables(plan));
        tables.extend(stuck::rows(plan));
        tables.extend(paused::switches(plan));
    }
    tables.extend(cost::tables(plan));
    tables
}

/// A pool for one crowd of ticks.
#[cfg(feature = "heist")]
fn pool() -> heist::ThreadPool {
    heist::ThreadPoolBuilder::new().num_threads(WORKERS).build().expect("heist starts its threads")
}

fn table(title: String, unit: &'static str, rows: Vec<Row>) -> Table {
    Table::with_rows(LINE, title, unit, Judged::Median, rows)
}

fn row(name: &str, figures: Figures, bars: Vec<Bar>) -> Row {
    let Figures { best, median, samples } = figures;
    Row { name: name.into(), best, median, samples, bars }
}

/// A quantile of the samples, for reading.
fn reported(name: &str, series: &Series, share: f64, unit_ns: f64) -> Row {
    row(name, Figures::quantile(series, share, unit_ns), Vec::new())
}

/// A quantile of the samples that must keep a limit.
fn at_most(name: &str, series: &Series, share: f64, unit_ns: f64, limit: f64) -> Row {
    let figures = Figures::quantile(series, share, unit_ns);
    let bar = Bar { measured: figures.median, what: "late".into(), sense: Sense::AtMost, limit };
    row(name, figures, vec![bar])
}
