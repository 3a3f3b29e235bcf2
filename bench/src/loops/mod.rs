//! Loops whose items cost unequal amounts: how well the work is balanced.

mod chili;
pub mod halving;
#[cfg(feature = "heist")]
mod heist;
mod items;
mod orx;
mod rayon;

use std::hint::black_box;

pub use items::{ITEMS, Items};

use crate::peers::{self, Backend, rayon::Rayon};
use crate::race::{Plan, Race};
use crate::report::{Judged, Table};
use crate::visit::repeat;

/// Items in a block that is not split further, where the contestant does not choose for itself.
pub const LEAF: u64 = 256;
const WORKERS: usize = 2;
const SAMPLES: usize = 2;

pub fn line(plan: &mut Plan) -> Vec<Table> {
    vec![table(plan, Items::Uneven), table(plan, Items::Skewed)]
}

fn table(plan: &mut Plan, items: Items) -> Table {
    let pool = Rayon::pool(WORKERS);
    let chili = peers::chili::pool(WORKERS);
    #[cfg(feature = "heist")]
    let heist = peers::heist::Heist::pool(WORKERS);

    let mut race = Race::new();
    race.enter("serial", || repeat(SAMPLES, 1, || items.sum(0..black_box(ITEMS))));
    race.enter("rayon par_iter", || {
        pool.install(|| repeat(SAMPLES, 1, || rayon::sum(items, black_box(ITEMS))))
    });
    race.enter("rayon join", || {
        pool.install(|| {
            let sum = || halving::sum::<Rayon>(0..black_box(ITEMS), LEAF, &|block| items.sum(block));
            repeat(SAMPLES, 1, sum)
        })
    });
    race.enter("orx-parallel", || repeat(SAMPLES, 1, || orx::sum(items, black_box(ITEMS), WORKERS)));
    race.enter("chili join", || {
        let mut scope = chili.scope();
        repeat(SAMPLES, 1, || chili::sum(&mut scope, items, 0..black_box(ITEMS)))
    });
    #[cfg(feature = "heist")]
    heist::enter(&mut race, &heist, items);

    let series = race.run(plan.rounds(15, 5), &mut plan.rng);
    let title = format!("{}, {WORKERS} workers", items.title());
    let mut table = Table::new("loops", title, ("ms", 1e6), Judged::Best, &series);
    table.report_speedups(&["rayon par_iter", "rayon join", "orx-parallel", "chili join"], "serial");
    #[cfg(feature = "heist")]
    heist::judge(&mut table, items);
    table
}
