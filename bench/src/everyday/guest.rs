//! The way into a pool and back, for the main thread, with nothing to do there.

use std::hint::black_box;

use crate::race::{Plan, Race};
use crate::report::{Bar, Judged, Sense, Table};
use crate::visit::repeat;

/// For heist's `fork`, which does nothing else; in nanoseconds.
const MAX_NS: f64 = 150.0;

const FORK: &str = "heist fork";

pub fn table(plan: &mut Plan) -> Option<Table> {
    if !plan.wants_row("entering and leaving") {
        return None;
    }
    let mut race = Race::new();
    race.enter("rayon scope", || repeat(20, 10, || rayon::scope(|_| black_box(7))));
    race.enter("rayon join", || repeat(20, 10, || rayon::join(|| black_box(7), || ()).0));
    #[cfg(feature = "heist")]
    {
        race.enter(FORK, || repeat(20, 100, || heist::fork(|_| black_box(7))));
        race.enter("heist scope", || repeat(20, 100, || heist::scope(|_| black_box(7))));
        race.enter("heist join", || repeat(20, 100, || heist::join(|| black_box(7), || ()).0));
    }
    let series = race.run(plan.rounds(31, 7), &mut plan.rng);
    let title = "entering and leaving the global pool from the main thread";
    let mut table = Table::new("everyday", title, ("ns", 1.0), Judged::Median, &series);
    if cfg!(feature = "heist") {
        let measured = table.figure(FORK);
        table.bar(FORK, Bar { measured, what: "ns".into(), sense: Sense::AtMost, limit: MAX_NS });
        table.report_ratio("heist scope", "rayon scope");
        table.report_ratio("heist join", "rayon join");
    }
    Some(table)
}
