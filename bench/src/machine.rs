//! How much of the machine others used: a figure measured beside a busy neighbour is not worth its digits.

use std::fs;
use std::time::{Duration, Instant};

/// The field of /proc/stat with the time that the hypervisor gave to others.
const STOLEN: usize = 7;

/// CPU time so far, in clock ticks.
pub struct Watch {
    start: Instant,
    /// Of everyone, time stolen by the hypervisor included.
    all: u64,
    /// Of this process and the children it has waited for.
    own: u64,
}

impl Watch {
    pub fn start() -> Watch {
        Watch { start: Instant::now(), all: all_ticks(), own: own_ticks() }
    }

    /// How many cores others have used on average since the start.
    pub fn cores_used_by_others(&self) -> f64 {
        let ticks = (all_ticks() - self.all).saturating_sub(own_ticks() - self.own);
        ticks as f64 / rustix::param::clock_ticks_per_second() as f64 / self.start.elapsed().as_secs_f64()
    }
}

/// How long the hypervisor has let this machine's cores wait so far.
pub fn stolen_time() -> Duration {
    Duration::from_secs(stolen(&all_cores())) / rustix::param::clock_ticks_per_second() as u32
}

fn all_cores() -> String {
    let stat = fs::read_to_string("/proc/stat").expect("/proc/stat can be read");
    stat.lines().next().expect("/proc/stat starts with the sum of all cores").into()
}

fn all_ticks() -> u64 {
    busy(&all_cores())
}

fn ticks(line: &str) -> Vec<u64> {
    let fields = line.split_whitespace().skip(1);
    fields.map(|field| field.parse().expect("/proc/stat counts in whole ticks")).collect()
}

/// user, nice, system, irq, softirq and steal of a line of /proc/stat; guests are part of user.
fn busy(line: &str) -> u64 {
    let ticks = ticks(line);
    [0, 1, 2, 5, 6, STOLEN].iter().map(|&field| ticks[field]).sum()
}

fn stolen(line: &str) -> u64 {
    ticks(line)[STOLEN]
}

fn own_ticks() -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("/proc/self/stat can be read");
    own(&stat)
}

/// utime, stime, cutime and cstime of /proc/self/stat.
fn own(stat: &str) -> u64 {
    // The name of the program may contain blanks and brackets; the fields are counted from its end.
    let (_, fields) = stat.rsplit_once(')').expect("/proc/self/stat has the name in brackets");
    let ticks = fields.split_whitespace().skip(11).take(4);
    ticks.map(|field| field.parse::<u64>().expect("/proc/self/stat counts in whole ticks")).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_leaves_out_idle_iowait_and_guests() {
        assert_eq!(busy("cpu  1 2 4 1000 2000 8 16 32 4000 8000"), 63);
    }

    #[test]
    fn stolen_is_the_hypervisors_field() {
        assert_eq!(stolen("cpu  1 2 4 1000 2000 8 16 32 4000 8000"), 32);
    }

    #[test]
    fn own_counts_children_and_survives_odd_names() {
        let stat = "7 (a ) b) R 1 7 7 0 -1 4194304 90 0 0 0 1 2 4 8 20 0 1 0 5 6 7";
        assert_eq!(own(stat), 15);
    }
}
