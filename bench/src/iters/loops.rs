//! The uneven and the skewed loop through `par_iter`, with no hints.

use std::hint::black_box;

use super::{WORKERS, on_rayon};
use crate::loops::{ITEMS, Items};
use crate::peers::{Backend, rayon::Rayon};
use crate::race::{Plan, Race};
use crate::report::{Judged, Table};
use crate::visit::repeat;

const SAMPLES: usize = 2;

pub fn tables(plan: &mut Plan) -> Vec<Table> {
    let wanted = [("uneven", Items::Uneven, 1.97), ("skewed", Items::Skewed, 1.93)];
    let wanted = wanted.into_iter().filter(|(name, ..)| plan.wants_row(name)).collect::<Vec<_>>();
    wanted.into_iter().map(|(_, items, limit)| table(plan, items, limit)).collect()
}

#[cfg_attr(not(feature = "heist"), allow(unused_variables, reason = "only heist is judged"))]
fn table(plan: &mut Plan, items: Items, limit: f64) -> Table {
    let rayon = Rayon::pool(WORKERS);
    #[cfg(feature = "heist")]
    let heist = crate::peers::heist::Heist::pool(WORKERS);

    let cost = move |item| items.cost(item);
    let mut race = Race::new();
    race.enter("serial", || repeat(SAMPLES, 1, || items.sum(0..black_box(ITEMS))));
    race.enter("rayon par_iter", || {
        rayon.install(|| repeat(SAMPLES, 1, || on_rayon::work::uneven::run(black_box(ITEMS), cost)))
    });
    #[cfg(feature = "heist")]
    race.enter("heist par_iter", || {
        heist.install(|| repeat(SAMPLES, 1, || super::on_heist::work::uneven::run(black_box(ITEMS), cost)))
    });

    let series = race.run(plan.rounds(15, 5), &mut plan.rng);
    let title = format!("{} through par_iter, {WORKERS} workers", items.title());
    let mut table = Table::new("iters", title, ("ms", 1e6), Judged::Best, &series);
    table.report_speedups(&["rayon par_iter"], "serial");
    #[cfg(feature = "heist")]
    table.speedup_at_least("heist par_iter", limit, "serial");
    table
}
