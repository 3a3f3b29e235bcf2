//! What has to go on while the workers compute.

mod echo;
mod spawns;
mod timers;
mod wakes;

use std::sync::Arc;
use std::time::Duration;

use super::shift::Shift;
use crate::tasks::runtime::Runtime;

/// Between two round trips, wakes or spawns.
const GAP: Duration = Duration::from_millis(3);

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Probe {
    /// Round trips of a TCP connection.
    Echo,
    /// How late they are.
    Timers,
    /// From a message of a foreign thread until its task runs.
    Wakes,
    /// From a spawn by a foreign thread until the task runs.
    Spawns,
}

impl Probe {
    pub const ALL: [Probe; 4] = [Probe::Echo, Probe::Timers, Probe::Wakes, Probe::Spawns];

    pub fn title(self) -> &'static str {
        match self {
            Probe::Echo => "echo",
            Probe::Timers => "timers",
            Probe::Wakes => "wakes",
            Probe::Spawns => "spawns",
        }
    }

    /// The latencies of a shift in nanoseconds. Begins it as soon as the probe has been through once.
    pub fn run<R: Runtime>(self, shift: &Arc<Shift>) -> Vec<f64> {
        match self {
            Probe::Echo => echo::run::<R>(shift),
            Probe::Timers => timers::run::<R>(shift),
            Probe::Wakes => wakes::run::<R>(shift),
            Probe::Spawns => spawns::run::<R>(shift),
        }
    }
}
