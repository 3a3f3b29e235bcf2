//! Whether others use the CPUs: threads compute for a second, and their CPU clocks are compared with the wall's.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// How long they compute. Long against the period of a quota and the slices of a scheduler.
const MEASURED: Duration = Duration::from_secs(1);

/// What was measured.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Noise {
    /// How many threads have computed.
    pub threads: usize,
    /// The part of the time for which the unluckiest of them had a CPU. `None` where threads have no CPU clocks.
    pub cpu_share: Option<f64>,
    /// The part of all CPUs' time that the host has given to other machines. `None` if the system does not say.
    pub steal_share: Option<f64>,
}

/// Computes on so many threads, and looks.
pub fn measure(threads: usize) -> Noise {
    let before = stolen();
    let shares: Vec<Option<f64>> = std::thread::scope(|scope| {
        let spinning: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(spin)).collect();
        spinning.into_iter().map(|thread| thread.join().unwrap_or(None)).collect()
    });
    let steal_share = before.zip(stolen()).and_then(|(before, after)| share(before, after));
    let worst = shares.iter().copied().collect::<Option<Vec<f64>>>();
    let cpu_share = worst.and_then(|shares| shares.into_iter().reduce(f64::min));
    Noise { threads: threads.max(1), cpu_share, steal_share }
}

/// The part of the time for which this thread had a CPU while it computed.
fn spin() -> Option<f64> {
    let system = heist_os::system(Some(true));
    let me = system.thread_number()?;
    let (cpu, wall) = (system.cpu_ns(me)?, Instant::now());
    let mut x = 1_u64;
    while wall.elapsed() < MEASURED {
        for _ in 0..1000 {
            x = black_box(x.wrapping_mul(3));
        }
    }
    let wall_ns = wall.elapsed().as_nanos() as f64;
    Some((system.cpu_ns(me)? - cpu) as f64 / wall_ns)
}

/// Time in the kernel's units: stolen, and all.
type Stolen = (u64, u64);

fn stolen() -> Option<Stolen> {
    parse(&std::fs::read_to_string("/proc/stat").ok()?)
}

/// From the first line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal; what follows is in these already.
fn parse(stat: &str) -> Option<Stolen> {
    let fields = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace().take(8);
    let times: Vec<u64> = fields.map(|field| field.parse().ok()).collect::<Option<_>>()?;
    Some((*times.get(7)?, times.iter().sum()))
}

fn share(before: Stolen, after: Stolen) -> Option<f64> {
    let all = after.1.checked_sub(before.1).filter(|&all| all > 0)?;
    Some(after.0.saturating_sub(before.0) as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_is_the_eighth_number() {
        assert_eq!(parse("cpu  10 0 10 70 0 0 0 10 99 99\ncpu0 1 2\n"), Some((10, 100)));
        for bad in ["", "cpu", "cpu  1 2 3", "cpu  1 2 3 4 5 6 7 x", "intr 1 2 3 4 5 6 7 8"] {
            assert_eq!(parse(bad), None, "{bad:?}");
        }
        assert_eq!(share((10, 100), (15, 200)), Some(0.05));
        assert_eq!(share((10, 100), (10, 100)), None);
        assert_eq!(share((10, 100), (0, 50)), None);
    }
}
