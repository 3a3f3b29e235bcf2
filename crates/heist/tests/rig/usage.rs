//! What the kernel has counted for the threads of this process.

use std::collections::BTreeMap;
use std::time::Duration;

/// Of one thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Usage {
    /// Times that it went to sleep.
    pub sleeps: u64,
    /// Nanoseconds on a CPU.
    pub cpu_ns: u64,
}

/// Of all threads of this process but the caller, by number.
pub fn usage() -> BTreeMap<u32, Usage> {
    let own = std::fs::read_link("/proc/thread-self").expect("/proc is mounted");
    let own: u32 = own.file_name().unwrap().to_str().unwrap().parse().unwrap();
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir("/proc/self/task").unwrap() {
        let path = entry.unwrap().path();
        let tid: u32 = path.file_name().unwrap().to_str().unwrap().parse().unwrap();
        // A thread that ends while we look is gone from the next look, too.
        let (Ok(status), Ok(schedstat)) =
            (std::fs::read_to_string(path.join("status")), std::fs::read_to_string(path.join("schedstat")))
        else {
            continue;
        };
        if tid == own {
            continue;
        }
        let sleeps = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")).unwrap();
        let cpu_ns = schedstat.split(' ').next().unwrap();
        all.insert(tid, Usage { sleeps: sleeps.trim().parse().unwrap(), cpu_ns: cpu_ns.parse().unwrap() });
    }
    all
}

/// Waits until nothing has changed for a while, and returns what it was then. Longer than the pace of the monitor, which goes on
/// looking for a second after the last work.
pub fn settled() -> BTreeMap<u32, Usage> {
    let mut before = usage();
    loop {
        std::thread::sleep(Duration::from_millis(600));
        let now = usage();
        if now == before {
            return now;
        }
        before = now;
    }
}
