//! What programs do all day: short loops over a few hundred or thousand items, a handful of long items, a loop after a pause, a
//! sequential source. heist against the plain loop and against rayon, from the main thread and from inside a pool.
//!
//! The loops are in `work/`; that folder is compiled twice, and `lib` is the library under test.

mod bridge;
mod guest;
mod heavy;
mod light;
mod plain;
mod pools;

use crate::race::{Plan, Series};
use crate::report::{Bar, Row, Sense, Table};

/// The loops on rayon.
#[path = "work"]
mod on_rayon {
    use ::rayon as lib;

    #[path = "mod.rs"]
    #[allow(clippy::duplicate_mod, reason = "the same source for both is the point")]
    pub mod work;
}

/// The loops on heist.
#[cfg(feature = "heist")]
#[path = "work"]
mod on_heist {
    use ::heist as lib;

    #[path = "mod.rs"]
    #[allow(clippy::duplicate_mod, reason = "the same source for both is the point")]
    pub mod work;
}

const WORKERS: usize = 2;
const PLAIN: &str = "plain";
const RAYON: &str = "rayon";
const HEIST: &str = "heist";

/// Who calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// A thread of a pool.
    Inside,
    /// The main thread, into the global pools.
    Outside,
}

impl Place {
    const ALL: [Place; 2] = [Place::Inside, Place::Outside];

    fn title(self) -> &'static str {
        match self {
            Place::Inside => "inside a pool",
            Place::Outside => "from the main thread",
        }
    }
}

/// Runs one loop of each contestant in alternation; `$on` is the module of loops in it, and `$shape` is what the contestant's own
/// visits know from the first one.
macro_rules! race {
    ($plan:expr, $rounds:expr, $pools:expr, $place:expr, |$on:ident, $shape:ident| $visit:expr) => {{
        let shapes = [const { $crate::everyday::light::Shape::new() }; 3];
        let mut race = $crate::race::Race::new();
        race.enter($crate::everyday::PLAIN, || {
            use $crate::everyday::plain as $on;
            let $shape = &shapes[0];
            $visit
        });
        race.enter($crate::everyday::RAYON, || {
            use $crate::everyday::on_rayon::work as $on;
            let $shape = &shapes[1];
            $pools.in_rayon($place, || $visit)
        });
        #[cfg(feature = "heist")]
        race.enter($crate::everyday::HEIST, || {
            use $crate::everyday::on_heist::work as $on;
            let $shape = &shapes[2];
            $pools.in_heist($place, || $visit)
        });
        race.run($rounds, &mut $plan.rng)
    }};
}
use race;

pub fn line(plan: &mut Plan) -> Vec<Table> {
    let pools = pools::Pools::start();
    let mut tables = light::tables(plan, &pools);
    tables.extend(heavy::tables(plan, &pools));
    tables.extend(bridge::tables(plan, &pools));
    tables.extend(guest::table(plan));
    tables
}

fn find<'a>(series: &'a [Series], name: &str) -> Option<&'a Series> {
    series.iter().find(|series| series.name == name)
}

/// heist's times in units of `unit_ns`, and what it may take of others' medians. Without heist, rayon's times. What has no limit is
/// there to be read.
fn row(name: String, series: &[Series], (unit, unit_ns): (&str, f64), limits: &[(&str, Option<f64>)]) -> Row {
    let heist = find(series, HEIST);
    let shown = heist.or(find(series, RAYON)).expect("rayon always takes part");
    let bars = limits.iter().filter_map(|(peer, limit)| {
        let peer_ns = find(series, peer).expect("a bar is about somebody who takes part").median_ns();
        let measured = heist?.median_ns() / peer_ns;
        let what = format!("x {peer}, {:.3} {unit}", peer_ns / unit_ns);
        let sense = if limit.is_some() { Sense::AtMost } else { Sense::Reported };
        Some(Bar { measured, what, sense, limit: limit.unwrap_or(f64::NAN) })
    });
    Row {
        name,
        best: shown.best_ns() / unit_ns,
        median: shown.median_ns() / unit_ns,
        samples: shown.samples_ns.len(),
        bars: bars.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_judged_by_each_peer() {
        let series = [(PLAIN, 20.0), (RAYON, 40.0), (HEIST, 30.0)]
            .map(|(name, ns)| Series { name: name.into(), samples_ns: vec![ns] });
        let row = row("some".into(), &series, ("us", 1e3), &[(PLAIN, Some(1.2)), (RAYON, None)]);
        assert_eq!((row.median, row.bars[0].measured, row.bars[1].measured), (0.03, 1.5, 0.75));
        assert_eq!((row.bars[0].is_met(), row.bars[1].is_met()), (false, true));
    }
}
