//! Async work beside computing: how long do sockets, timers, channels and new tasks wait while every core computes?
//!
//! Each combination of a probe and a load runs on heist, where one pool has both, and on tokio beside a rayon pool of
//! its own, where the kernel takes a core from the one to give it to the other.

mod combination;
mod host;
mod load;
mod primes;
mod probe;
mod shift;

use std::cell::RefCell;

use combination::Combination;
use host::Host;
use load::Pieces;
use shift::Shift;

use crate::race::{Plan, Race, Series};
use crate::report::{Judged, Row, Table};
use crate::tasks::figures::{Figures, Limit, compare_by};
use crate::tasks::runtime::{Tokio, WORKERS};
use crate::visit::Visit;

const LINE: &str = "beside";
const US: f64 = 1e3;

/// How much more than the peer's.
const P90_MORE_US: f64 = 200.0;
const P99_MORE_US: f64 = 1_000.0;
/// Whatever the peer's is.
const MAX_US: f64 = 100_000.0;

pub fn line(plan: &mut Plan) -> Vec<Table> {
    let wanted = Combination::all(plan);
    if wanted.is_empty() {
        return Vec::new();
    }
    let pieces = Pieces::calibrated(plan.quick);
    wanted.into_iter().map(|combination| table(plan, &pieces, combination)).collect()
}

fn table(plan: &mut Plan, pieces: &Pieces, combination: Combination) -> Table {
    let load_ns: RefCell<Vec<Series>> = RefCell::default();
    let mut race = Race::new();
    race.enter("tokio", contestant::<Tokio>("tokio", pieces, combination, &load_ns));
    #[cfg(feature = "heist")]
    race.enter("heist", contestant::<crate::tasks::runtime::Heist>("heist", pieces, combination, &load_ns));
    let series = race.run(plan.rounds(2, 2), &mut plan.rng);

    let row = |name: &str, share: f64, limit: Limit| -> Row {
        compare_by(name, &series, &[limit], |series| Figures::quantile(series, share, US))
    };
    let mut rows = vec![
        row("p50", 0.5, Limit::None),
        row("p90", 0.9, Limit::More(P90_MORE_US)),
        row("p99", 0.99, Limit::More(P99_MORE_US)),
        row("max", 1.0, Limit::Figure(MAX_US)),
    ];
    // A runtime that answers soon because it does not compute would show here.
    let load_ns = load_ns.into_inner();
    rows.push(compare_by("a piece of the load", &load_ns, &[Limit::None], |series| Figures::of(series, US)));
    let title = format!("{}, {WORKERS} workers; tokio is with rayon", combination.title(plan.quick));
    Table::with_rows(LINE, title, "us", Judged::Median, rows)
}

/// The turns of one runtime. The first one, which does not count, is a short one.
fn contestant<'a, H: Host>(
    name: &'static str,
    pieces: &'a Pieces,
    combination: Combination,
    load_ns: &'a RefCell<Vec<Series>>,
) -> impl FnMut() -> Visit<()> + 'a {
    let who = load_ns.borrow().len();
    load_ns.borrow_mut().push(Series { name: name.into(), samples_ns: Vec::new() });
    let mut is_first = true;
    move || {
        if std::mem::take(&mut is_first) {
            Shift::run::<H>(combination.probe, combination.load, &pieces.warm_up);
            return Visit { value: (), samples_ns: Vec::new() };
        }
        let shift = Shift::run::<H>(combination.probe, combination.load, combination.pieces(pieces));
        load_ns.borrow_mut()[who].samples_ns.extend(shift.pieces_ns);
        Visit { value: (), samples_ns: shift.latencies_ns }
    }
}
