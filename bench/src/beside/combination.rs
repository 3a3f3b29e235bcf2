//! Which probe runs beside which load.

use super::load::{BURST, Load, Piece, Pieces, long};
use super::probe::Probe;
use crate::race::Plan;

#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Combination {
    pub probe: Probe,
    pub load: Load,
    is_long: bool,
}

/// What a quick run has: the most common shape of a server with every form of its load, and everything else once.
const QUICK: [Combination; 7] = [
    Combination { probe: Probe::Echo, load: Load::Compute, is_long: false },
    Combination { probe: Probe::Echo, load: Load::Compute, is_long: true },
    Combination { probe: Probe::Echo, load: Load::LoopInTask, is_long: false },
    Combination { probe: Probe::Echo, load: Load::LoopInTask, is_long: true },
    Combination { probe: Probe::Timers, load: Load::Jobs, is_long: true },
    Combination { probe: Probe::Wakes, load: Load::LongPolls, is_long: false },
    Combination { probe: Probe::Spawns, load: Load::Jobs, is_long: false },
];

impl Combination {
    /// Those that the plan wants. Who asks for rows by name gets them in a quick run, too.
    pub fn all(plan: &Plan) -> Vec<Combination> {
        let mut all = Vec::new();
        for probe in Probe::ALL {
            for load in Load::ALL {
                all.extend([false, true].map(|is_long| Combination { probe, load, is_long }));
            }
        }
        all.retain(|combination| {
            let is_in_plan = !plan.quick || !plan.rows.is_empty() || QUICK.contains(combination);
            is_in_plan && plan.wants_row(&combination.title(plan.quick))
        });
        all
    }

    pub fn title(self, quick: bool) -> String {
        let duration = if self.is_long {
            format!("{} s", long(quick).as_secs())
        } else {
            format!("bursts of {} ms", BURST.as_millis())
        };
        format!("{} beside {}, {duration}", self.probe.title(), self.load.title())
    }

    pub fn pieces(self, pieces: &Pieces) -> &[Piece] {
        if self.is_long { &pieces.long } else { &pieces.bursts }
    }
}
