//! Many tiny spawns in one scope, and the way into a pool from outside.

#[cfg(feature = "heist")]
mod heist;
mod rayon;

use std::hint::black_box;

use crate::peers::{Backend, rayon::Rayon};
use crate::race::{Plan, Race};
use crate::report::{Judged, Table};
use crate::visit::repeat;

const WORKERS: usize = 2;
const SPAWNS: u64 = 100_000;

pub fn line(plan: &mut Plan) -> Vec<Table> {
    vec![scopes(plan), installs(plan)]
}

fn scopes(plan: &mut Plan) -> Table {
    let pool = Rayon::pool(WORKERS);
    #[cfg(feature = "heist")]
    let heist = crate::peers::heist::Heist::pool(WORKERS);
    let mut race = Race::new();
    race.enter("rayon", || pool.install(|| repeat(3, 1, || rayon::spawns(black_box(SPAWNS)))).per(SPAWNS));
    #[cfg(feature = "heist")]
    heist::enter_scope(&mut race, &heist);
    let series = race.run(plan.rounds(15, 5), &mut plan.rng);
    let title = format!("scope with {SPAWNS} tiny spawns, {WORKERS} workers");
    let mut table = Table::new("spawn", title, ("ns per spawn", 1.0), Judged::Best, &series);
    #[cfg(feature = "heist")]
    table.report_ratio("heist", "rayon");
    table
}

fn installs(plan: &mut Plan) -> Table {
    let pool = Rayon::pool(WORKERS);
    #[cfg(feature = "heist")]
    let heist = crate::peers::heist::Heist::pool(WORKERS);
    let mut race = Race::new();
    race.enter("rayon install", || repeat(20, 10, || pool.install(|| black_box(7))));
    #[cfg(feature = "heist")]
    heist::enter_install(&mut race, &heist);
    let series = race.run(plan.rounds(15, 5), &mut plan.rng);
    let title = format!("install from outside, back to back, {WORKERS} workers");
    let mut table = Table::new("spawn", title, ("us", 1e3), Judged::Median, &series);
    #[cfg(feature = "heist")]
    for name in ["heist install", "heist fork"] {
        table.report_ratio(name, "rayon install");
    }
    table
}
