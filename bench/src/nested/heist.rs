//! heist's turn, and the bar.

use std::hint::black_box;

use heist::ThreadPool;

use super::{SAMPLES, shape::Shape};
use crate::peers::heist::Heist;
use crate::race::Race;
use crate::report::Table;
use crate::visit::repeat;

pub fn enter<'a>(race: &mut Race<'a, u64>, pool: &'a ThreadPool, shape: &'a Shape) {
    race.enter("heist", move || pool.install(|| repeat(SAMPLES, 1, || black_box(shape).parallel::<Heist>())));
}

pub fn judge(table: &mut Table) {
    table.report_speedups(&["heist"], "serial");
    table.at_most("heist", 1.05, "rayon");
}
