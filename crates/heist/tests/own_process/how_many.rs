//! How many workers a pool has that does not say: what the process's CPUs and its control groups allow. Which files count, and how they are
//! read, is tested on made-up trees in `heist-os`; here the kernel is asked.

#![cfg(target_os = "linux")]

use crate::rig::child;
use crate::rig::watchdog::watch;
use heist::ThreadPoolBuilder;
use std::io;
use std::path::{Path, PathBuf};

/// Runs the test again for `case`, without variables that say how many; tells what it says.
fn rerun(name: &str, case: &str) {
    let mut child = child::child(module_path!(), name, case);
    for variable in ["HEIST_NUM_THREADS", "RAYON_NUM_THREADS", "RAYON_RS_NUM_CPUS"] {
        child.env_remove(variable);
    }
    print!("{}", child::ends_well(&mut child));
}

fn built() -> usize {
    let hints = [true, false].map(|hints| ThreadPoolBuilder::new().os_hints(hints).build().unwrap());
    let [with, without] = hints.map(|pool| pool.broadcast(|_| ()).len());
    assert_eq!(with, without, "a limit is no hint");
    with
}

#[test]
fn a_process_on_one_cpu_has_one_worker() {
    unsafe extern "C" {
        fn sched_getaffinity(tid: i32, size: usize, mask: *mut [u64; 16]) -> i32;
        fn sched_setaffinity(tid: i32, size: usize, mask: *const [u64; 16]) -> i32;
    }
    let _watch = watch!();
    if child::case().is_none() {
        return rerun("a_process_on_one_cpu_has_one_worker", "1");
    }
    let mut mask = [0; 16];
    // SAFETY: the kernel writes at most that many bytes.
    assert!(unsafe { sched_getaffinity(0, size_of_val(&mask), &raw mut mask) } >= 0);
    let cpus = mask.iter().map(|bits: &u64| bits.count_ones() as usize).sum::<usize>();
    println!("{cpus} CPUs: {} workers", built());
    let word = mask.iter().position(|&bits| bits != 0).expect("it runs somewhere");
    let lowest = mask[word] & mask[word].wrapping_neg();
    mask = [0; 16];
    mask[word] = lowest;
    // SAFETY: the kernel reads that many bytes.
    assert_eq!(unsafe { sched_setaffinity(0, size_of_val(&mask), &raw const mask) }, 0);
    assert_eq!(built(), 1);
    assert_eq!(heist::current_num_threads(), 1);
    // Who says how many is obeyed.
    assert_eq!(ThreadPoolBuilder::new().num_threads(3).build().unwrap().current_num_threads(), 3);
}

/// A pool that does not say how many threads it starts with starts with no more than its most, wherever it runs.
#[test]
fn a_most_is_enough_to_say() {
    let _watch = watch!();
    let name = "a_most_is_enough_to_say";
    if child::case().is_none() {
        child::ends_well(child::child(module_path!(), name, "1").env("HEIST_NUM_THREADS", "5"));
        return;
    }
    for (most, active) in [(3, 3), (5, 5), (7, 5)] {
        let pool = ThreadPoolBuilder::new().max_num_threads(most).build().unwrap();
        assert_eq!((pool.active_num_threads(), pool.current_num_threads()), (active, most));
    }
    // Who says both says something wrong, also where the environment lowers it.
    let error = ThreadPoolBuilder::new().num_threads(9).max_num_threads(6).build().unwrap_err();
    assert!(error.to_string().contains("max_num_threads(6) is less than the 9 threads"), "{error}");
    let error = ThreadPoolBuilder::new().num_threads(4).max_num_threads(3).build().unwrap_err();
    assert!(error.to_string().contains("max_num_threads(3) is less than the 4 threads"), "{error}");
    let error =
        ThreadPoolBuilder::new().num_threads(1).max_num_threads(3).max_threads(2).build().unwrap_err();
    assert!(error.to_string().contains("raise it or lower max_num_threads"), "{error}");
}

/// A control group, which goes when the test does.
struct Group(PathBuf);

impl Group {
    fn new(parent: &Path, name: &str, quota: Option<u32>) -> io::Result<Self> {
        let group = Self(parent.join(name));
        std::fs::create_dir(&group.0)?;
        match quota {
            // In a hierarchy of version 2 these are one file.
            Some(quota) if group.0.join("cpu.cfs_quota_us").exists() => {
                std::fs::write(group.0.join("cpu.cfs_period_us"), "100000")?;
                std::fs::write(group.0.join("cpu.cfs_quota_us"), quota.to_string())?;
            }
            Some(quota) => std::fs::write(group.0.join("cpu.max"), format!("{quota} 100000"))?,
            None => {}
        }
        Ok(group)
    }

    /// A group below this process's own, in a hierarchy that limits CPU time.
    fn beside_us(quota: u32) -> io::Result<Self> {
        let own = std::fs::read_to_string("/proc/self/cgroup")?;
        let path = |is_it: &dyn Fn(&str) -> bool| {
            own.lines().find_map(|line| {
                let mut fields = line.splitn(3, ':').skip(1);
                is_it(fields.next()?).then(|| fields.next().map(|path| path.trim_start_matches('/')))?
            })
        };
        let parent = match path(&|names| names.split(',').any(|name| name == "cpu")) {
            Some(path) => Path::new("/sys/fs/cgroup/cpu").join(path),
            None => Path::new("/sys/fs/cgroup").join(path(&str::is_empty).unwrap_or_default()),
        };
        Self::new(&parent, &format!("heist-test-{}", std::process::id()), Some(quota))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// Half a core is one worker, and a core and a half are two; also if it is the parent of the process's group that has no more.
#[test]
fn a_quota_is_rounded_up_to_workers() {
    let _watch = watch!();
    let name = "a_quota_is_rounded_up_to_workers";
    if let Some(case) = child::case() {
        let (group, workers) = case.rsplit_once('=').unwrap();
        let workers = built().min(workers.parse().unwrap());
        if let Err(error) = std::fs::write(Path::new(group).join("cgroup.procs"), "0") {
            return eprintln!("skipped: this process cannot move to its new control group: {error}");
        }
        assert_eq!(built(), workers);
        assert_eq!(heist::current_num_threads(), workers);
        return;
    }
    for (quota_us, workers) in [(50_000, 1), (150_000, 2)] {
        let made = Group::beside_us(quota_us).and_then(|outer| {
            let inner = Group::new(&outer.0, "inner", None)?;
            Ok((outer, inner))
        });
        match made {
            // The last is the first to go.
            Ok((outer, inner)) => {
                for group in [&inner, &outer] {
                    rerun(name, &format!("{}={workers}", group.0.display()));
                }
            }
            Err(error) => println!("skipped: no control group with a quota can be made here: {error}"),
        }
    }
}
