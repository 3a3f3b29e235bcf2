//! What is looked at. Nothing here judges.

use super::noise::{self, Noise};
use heist_os::limits::{BadVariable, Decision, Limits};
use heist_os::topology::Topology;
use std::path::Path;

/// Whether something is there, and if not, whose doing that is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Presence {
    /// It works.
    Yes,
    /// This variable turns it off.
    OffBy(&'static str),
    /// The system does not do it, or refuses.
    Refused,
    /// It is none of this system's things.
    Unknown,
}

/// All of it.
#[derive(Clone, Debug)]
pub struct Facts {
    /// How many workers, and why.
    pub decision: Decision,
    /// The asymmetric barrier: forks without fences.
    pub membarrier: Presence,
    /// Waits for sockets that end by the nanosecond.
    pub epoll_pwait2: Presence,
    /// CPU clocks of threads, and their placing.
    pub os_hints: Presence,
    /// How the CPUs belong together, if that is known.
    pub topology: Option<Topology>,
    /// What others do to the CPUs, if that was measured.
    pub noise: Option<Noise>,
}

impl Facts {
    /// Looks. `root`: where `/proc` and `/sys` are, for tests.
    pub fn gather(asked: usize, root: Option<&Path>, measures: bool) -> Result<Self, BadVariable> {
        let system = heist_os::system(Some(true));
        let mut limits = root.map_or_else(Limits::new, |root| Limits::below(root.into(), system));
        let decision = Decision::in_full(asked, &|name| std::env::var_os(name), &mut limits)?;
        let membarrier = match heist_sync::barrier::is_asymmetric() {
            true => Presence::Yes,
            false if !cfg!(target_os = "linux") => Presence::Unknown,
            false if heist_sync::switch("HEIST_FENCED") == Some(true) => Presence::OffBy("HEIST_FENCED"),
            false => Presence::Refused,
        };
        let epoll_pwait2 = match system.has_fine_waits() {
            Some(true) => Presence::Yes,
            Some(false) => Presence::Refused,
            None => Presence::Unknown,
        };
        let os_hints = match system.thread_number() {
            _ if heist_sync::switch("HEIST_OS_HINTS") == Some(false) => Presence::OffBy("HEIST_OS_HINTS"),
            Some(_) => Presence::Yes,
            None => Presence::Unknown,
        };
        // No more than there are CPUs: those would wait for each other.
        let threads = decision.workers.min(decision.allowed().1);
        let topology = root.map_or_else(Topology::of_machine, Topology::below);
        let noise = measures.then(|| noise::measure(threads));
        Ok(Self { decision, membarrier, epoll_pwait2, os_hints, topology, noise })
    }
}
