//! heist's turns, inside by `join` and `Fork`, from outside by `fork` and `install`, and the bars.

use std::thread::Scope;

use heist::{Fork, ThreadPool};

use super::resident::Resident;
use super::{Half, joined, left, rested, right};
use crate::peers::heist::{Heist, guests};
use crate::race::Race;
use crate::report::{Bar, Sense, Table};

fn forked(fork: Fork<'_>, steps: u64) -> (u64, u64) {
    fork.join(|_| left(steps), |_| right(steps))
}

/// Those who stay inside, each in a pool to itself.
pub struct Residents {
    join: Resident,
    fork: Resident,
}

impl Residents {
    pub fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        join: &'scope ThreadPool,
        fork: &'scope ThreadPool,
    ) -> Residents {
        Residents {
            join: Resident::start(scope, |turns| {
                join.install(|| turns.serve(|steps| rested(|| joined::<Heist>(steps))));
            }),
            fork: Resident::start(scope, |turns| {
                fork.install(|| turns.serve(|steps| rested(|| heist::fork(|fork| forked(fork, steps)))));
            }),
        }
    }
}

pub fn enter<'a>(
    race: &mut Race<'a, (u64, u64)>,
    residents: &'a Residents,
    outside: &'a ThreadPool,
    steps: u64,
) {
    race.enter("heist join inside", move || residents.join.turn(steps));
    race.enter("heist Fork inside", move || residents.fork.turn(steps));
    race.enter("heist fork outside", move || rested(|| guests().fork(|fork| forked(fork, steps))));
    race.enter("heist install outside", move || rested(|| outside.install(|| joined::<Heist>(steps))));
}

pub fn judge(table: &mut Table, half: Half, wake_us: f64) {
    for name in ["heist join inside", "heist Fork inside", "heist fork outside"] {
        match half {
            Half::Us1 => {
                let measured = table.figure(name);
                let limit = table.figure("serial") + wake_us;
                let what = "us against serial + one wake".into();
                table.bar(name, Bar { measured, what, sense: Sense::AtMost, limit });
                table.at_most(name, 1.0, "rayon inside");
            }
            Half::Us100 => table.at_most(name, 0.95, "serial"),
            Half::Ms1 => table.at_most(name, 0.58, "serial"),
        }
    }
    table.report_ratio("heist install outside", "rayon outside");
}
