//! Parallel loops in parallel loops: the price of a wait that runs only its own work.

mod burst;
#[cfg(feature = "heist")]
mod heist;
mod running;
pub mod shape;
pub mod threads;

use std::hint::black_box;

use shape::SHAPES;

use crate::peers::{Backend, rayon::Rayon};
use crate::race::{Plan, Race};
use crate::report::{Judged, Table};
use crate::visit::repeat;

const WORKERS: usize = 2;
const SAMPLES: usize = 3;

pub fn line(plan: &mut Plan) -> Vec<Table> {
    let mut tables: Vec<Table> = SHAPES.iter().map(|shape| table(plan, shape)).collect();
    tables.extend(threads::tables());
    tables
}

fn table(plan: &mut Plan, shape: &shape::Shape) -> Table {
    let rayon = Rayon::pool(WORKERS);
    #[cfg(feature = "heist")]
    let heist = crate::peers::heist::Heist::pool(WORKERS);

    let mut race = Race::new();
    race.enter("serial", || repeat(SAMPLES, 1, || black_box(shape).serial()));
    race.enter("rayon", || rayon.install(|| repeat(SAMPLES, 1, || black_box(shape).parallel::<Rayon>())));
    #[cfg(feature = "heist")]
    heist::enter(&mut race, &heist, shape);

    let series = race.run(plan.rounds(25, 10), &mut plan.rng);
    let title = format!("{}, {WORKERS} workers", shape.title);
    let mut table = Table::new("nested", title, ("ms", 1e6), Judged::Best, &series);
    table.report_speedups(&["rayon"], "serial");
    #[cfg(feature = "heist")]
    heist::judge(&mut table);
    table
}
