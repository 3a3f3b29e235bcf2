//! A join after 10 ms of idleness: does it wake anybody, in time, and at what price?

#[cfg(feature = "heist")]
mod heist;
mod resident;
mod wake;

use std::hint::black_box;
use std::thread;
use std::time::Duration;

use resident::Resident;

use crate::churn::{churn, steps_for};
use crate::peers::{self, Backend, rayon::Rayon};
use crate::race::{Plan, Race};
use crate::report::{Judged, Table};
use crate::visit::{Visit, once};

const WORKERS: usize = 2;
const IDLE: Duration = Duration::from_millis(10);

/// How long each of the two halves computes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    Us1,
    Us100,
    Ms1,
}

impl Half {
    const ALL: [Half; 3] = [Half::Us1, Half::Us100, Half::Ms1];

    fn ns(self) -> f64 {
        match self {
            Half::Us1 => 1e3,
            Half::Us100 => 1e5,
            Half::Ms1 => 1e6,
        }
    }

    fn title(self) -> &'static str {
        match self {
            Half::Us1 => "join of two 1 us halves after 10 ms of idleness, 2 workers",
            Half::Us100 => "join of two 100 us halves after 10 ms of idleness, 2 workers",
            Half::Ms1 => "join of two 1 ms halves after 10 ms of idleness, 2 workers",
        }
    }
}

/// One sample after everyone has been idle.
fn rested<V>(work: impl FnOnce() -> V) -> Visit<V> {
    thread::sleep(IDLE);
    once(work)
}

fn left(steps: u64) -> u64 {
    churn(black_box(1), steps)
}

fn right(steps: u64) -> u64 {
    churn(black_box(2), steps)
}

fn joined<B: Backend>(steps: u64) -> (u64, u64) {
    B::join(|| left(steps), || right(steps))
}

fn chili_joined(scope: &mut chili::Scope<'_>, steps: u64) -> (u64, u64) {
    let (right, left) = scope.join(|_| right(steps), |_| left(steps));
    (left, right)
}

pub fn line(plan: &mut Plan) -> Vec<Table> {
    let wake = wake::table(plan);
    #[cfg(feature = "heist")]
    let wake_us = wake.figure("futex wake, price to the waker");
    let mut tables = vec![wake];

    // A resident holds a worker while it waits for its turn, so each has a pool to itself.
    let rayon = [(); 2].map(|()| Rayon::pool(WORKERS));
    let chili = peers::chili::pool(WORKERS);
    #[cfg(feature = "heist")]
    let heist = [(); 3].map(|()| peers::heist::Heist::pool(WORKERS));
    thread::scope(|scope| {
        let rayon_inside = Resident::start(scope, |turns| {
            rayon[0].install(|| turns.serve(|steps| rested(|| joined::<Rayon>(steps))));
        });
        #[cfg(feature = "heist")]
        let heist_residents = heist::Residents::start(scope, &heist[0], &heist[1]);
        for half in Half::ALL {
            let steps = black_box(steps_for(half.ns()));
            let mut race = Race::new();
            race.enter("serial", || rested(|| (left(steps), right(steps))));
            race.enter("rayon inside", || rayon_inside.turn(steps));
            race.enter("rayon outside", || rested(|| rayon[1].install(|| joined::<Rayon>(steps))));
            race.enter("chili", || {
                let mut scope = chili.scope();
                rested(|| chili_joined(&mut scope, steps))
            });
            #[cfg(feature = "heist")]
            heist::enter(&mut race, &heist_residents, &heist[2], steps);
            let series = race.run(plan.rounds(150, 40), &mut plan.rng);
            let mut table = Table::new("cold", half.title(), ("us", 1e3), Judged::Median, &series);
            #[cfg(feature = "heist")]
            heist::judge(&mut table, half, wake_us);
            tables.push(table);
        }
    });
    tables
}
