//! What the machine allows, each with where that is written.

use super::groups::{Groups, below};
use super::{Allows, Input, Kind};
use crate::{System, cpu_list, file, parse_cpu_list};
use std::path::{Path, PathBuf};

/// The places where limits are written. Reading them again is cheap: the search for the groups of this process is not repeated, unless it
/// has been moved to others.
///
/// ```
/// let mut limits = heist_os::limits::Limits::new();
/// let before = limits.workers(0);
/// assert!(before >= 1);
/// let now = limits.workers(before); // for a pool that has that many threads by now
/// assert!(now >= 1);
/// ```
#[derive(Debug)]
pub struct Limits {
    root: PathBuf,
    system: &'static dyn System,
    /// The text in which the groups were found.
    cgroup: Vec<u8>,
    groups: Groups,
}

impl Default for Limits {
    fn default() -> Self {
        Self::new()
    }
}

impl Limits {
    /// Of this machine.
    pub fn new() -> Self {
        Self::below("/".into(), crate::real())
    }

    /// As [`new`](Self::new), with the directories `proc` and `sys` below `root`, for tests; masks are `system`'s to tell.
    pub fn below(root: PathBuf, system: &'static dyn System) -> Self {
        Self { root, system, cgroup: Vec::new(), groups: Groups::default() }
    }

    /// How many workers a pool should have that begins now, or that has `threads` threads already: they are part of what the system
    /// counts. By the mask of the calling thread.
    pub fn workers(&mut self, threads: usize) -> usize {
        smallest(&self.read(threads)).1
    }

    /// Everything that says something about it; for `threads` see [`workers`](Self::workers).
    pub fn read(&mut self, threads: usize) -> Vec<Input> {
        self.find_groups();
        let mut found = vec![self.affinity()];
        let Groups { unified, cpu, cpuset, pids } = &self.groups;
        found.extend(unified.iter().filter_map(|dir| self.cpuset(dir.join("cpuset.cpus.effective"))));
        found.extend(cpuset.iter().filter_map(|dir| self.cpuset(dir.join("cpuset.effective_cpus"))));
        found.extend(unified.iter().filter_map(|dir| self.quota(dir)));
        found.extend(cpu.iter().filter_map(|dir| self.quota_v1(dir)));
        found.extend(unified.iter().chain(pids).filter_map(|dir| self.pids(dir, threads)));
        found.extend(self.processes(threads));
        found
    }

    fn find_groups(&mut self) {
        let cgroup = self.bytes("/proc/self/cgroup").unwrap_or_default();
        if cgroup != self.cgroup {
            let mountinfo = self.bytes("/proc/self/mountinfo").unwrap_or_default();
            self.groups = Groups::find(&self.root, &cgroup, &mountinfo);
            self.cgroup = cgroup;
        }
    }

    fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        file::read(&below(&self.root, Path::new(path)))
    }

    /// What is in a file, if it can be read.
    fn text(&self, path: &Path) -> Option<String> {
        let text = file::read_text(&below(&self.root, path))?;
        Some(text.trim().into())
    }

    fn affinity(&self) -> Input {
        let Some(mask) = self.system.mask(None).filter(|mask| mask.count() > 0) else {
            let number = std::thread::available_parallelism().ok().map(std::num::NonZero::get);
            return Input {
                kind: Kind::Affinity,
                source: "available_parallelism".into(),
                raw: number.map_or("unknown".into(), |n| n.to_string()),
                allows: number.map_or(Allows::Unknown, Allows::Workers),
            };
        };
        Input {
            kind: Kind::Affinity,
            source: "sched_getaffinity".into(),
            raw: cpu_list(mask.cpus()),
            allows: Allows::Workers(mask.count()),
        }
    }

    fn cpuset(&self, path: PathBuf) -> Option<Input> {
        let raw = self.text(&path)?;
        // An empty one is that of a group which has none of its own.
        let cpus = parse_cpu_list(&raw).map(|cpus| cpus.len()).filter(|&cpus| cpus > 0);
        let allows = cpus.map_or(Allows::Unknown, Allows::Workers);
        Some(Input { kind: Kind::Cpuset, source: shown(&path), raw, allows })
    }

    /// `cpu.max`: microseconds of CPU time in each period, or `max`; and the period.
    fn quota(&self, dir: &Path) -> Option<Input> {
        let path = dir.join("cpu.max");
        let raw = self.text(&path)?;
        let allows = match raw.split_whitespace().collect::<Vec<_>>()[..] {
            ["max", _] => Allows::Everything,
            [quota, period] => quota_of(quota, period),
            _ => Allows::Unknown,
        };
        Some(Input { kind: Kind::Quota, source: shown(&path), raw, allows })
    }

    /// The same of version 1, in two files, with -1 for no limit.
    fn quota_v1(&self, dir: &Path) -> Option<Input> {
        let path = dir.join("cpu.cfs_quota_us");
        let quota = self.text(&path)?;
        let period = self.text(&dir.join("cpu.cfs_period_us"));
        let allows = match (quota.as_str(), &period) {
            ("-1", _) => Allows::Everything,
            (quota, Some(period)) => quota_of(quota, period),
            (_, None) => Allows::Unknown,
        };
        let raw = format!("{quota} {}", period.as_deref().unwrap_or("unknown"));
        Some(Input { kind: Kind::Quota, source: shown(&path), raw, allows })
    }

    /// How many processes and threads a group may have, and has.
    fn pids(&self, dir: &Path, threads: usize) -> Option<Input> {
        let path = dir.join("pids.max");
        let most = self.text(&path)?;
        let now = self.text(&dir.join("pids.current"));
        let allows = match (most.as_str(), now.as_deref().map(str::parse::<usize>)) {
            ("max", _) => Allows::Everything,
            (most, Some(Ok(now))) => most.parse().map_or(Allows::Unknown, |most| room(most, now, threads)),
            _ => Allows::Unknown,
        };
        let raw = format!("{} of {most}", now.as_deref().unwrap_or("unknown"));
        Some(Input { kind: Kind::Threads, source: shown(&path), raw, allows })
    }

    /// `ulimit -u`: how many processes and threads the user may have. Those of other processes count, too, and are not known; so it is
    /// an upper bound. It does not bind whoever may go beyond it.
    fn processes(&self, threads: usize) -> Option<Input> {
        let path = Path::new("/proc/self/limits");
        let limits = self.text(path)?;
        let most =
            limits.lines().find_map(|line| line.strip_prefix("Max processes"))?.split_whitespace().next()?;
        let status = self.text(Path::new("/proc/self/status")).unwrap_or_default();
        let field = |name: &str| {
            let rest = status.lines().find_map(|line| line.strip_prefix(name))?;
            rest.split_whitespace().next()
        };
        /// CAP_SYS_ADMIN and CAP_SYS_RESOURCE, in the kernel's mask.
        const BEYOND: u64 = 1 << 21 | 1 << 24;
        let rights = field("CapEff:").and_then(|hex| u64::from_str_radix(hex, 16).ok());
        let is_free = field("Uid:") == Some("0") || rights.is_some_and(|rights| rights & BEYOND != 0);
        let now = field("Threads:").and_then(|now| now.parse().ok());
        let allows = match (most, now) {
            ("unlimited", _) => Allows::Everything,
            _ if is_free => Allows::Everything,
            (most, now) => most.parse().map_or(Allows::Unknown, |most| room(most, now.unwrap_or(1), threads)),
        };
        let why = if is_free && most != "unlimited" { ", which does not bind this process" } else { "" };
        let raw = format!("Max processes {most}{why}");
        Some(Input { kind: Kind::Threads, source: shown(path), raw, allows })
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn quota_of(quota: &str, period: &str) -> Allows {
    match (quota.parse(), period.parse()) {
        (Ok(quota_us), Ok(period_us)) if period_us > 0 => Allows::Cpu { quota_us, period_us },
        _ => Allows::Unknown,
    }
}

/// What is left of `most` while there are `now`, of which `threads` are the asker's.
fn room(most: usize, now: usize, threads: usize) -> Allows {
    Allows::Workers(most.saturating_add(threads).saturating_sub(now))
}

/// Which of `inputs` allows the fewest workers, and how many that is: at least one. Wishes are none of them.
pub(super) fn smallest(inputs: &[Input]) -> (Option<usize>, usize) {
    let is_wish = |input: &Input| matches!(input.kind, Kind::Program | Kind::Variable);
    let limits = inputs.iter().enumerate().filter(|(_, input)| !is_wish(input));
    let allowed = limits.filter_map(|(at, input)| Some((at, input.allows.workers()?)));
    match allowed.min_by_key(|&(_, workers)| workers) {
        Some((at, workers)) => (Some(at), workers.max(1)),
        None => (None, 1),
    }
}
