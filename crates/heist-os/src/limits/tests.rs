//! Made-up machines.

use super::*;
use crate::tree::Tree;
use crate::{CpuMask, System};
use std::path::Path;

fn limits(tree: &Tree, cpus: usize) -> Limits {
    Limits::below(tree.path().into(), Box::leak(Box::new(Masked(cpus))))
}

/// How many workers it allows, and where that is written, without what is the same for all files of its groups.
#[track_caller]
fn decides(tree: &Tree, cpus: usize, workers: usize, source: &str) {
    let decision = Decision::in_full(0, &|_| None, &mut limits(tree, cpus)).unwrap();
    assert_eq!(decision.workers, workers, "{decision:#?}");
    let by = &decision.inputs[decision.by.unwrap()].source;
    assert_eq!(by.strip_prefix("/sys/fs/cgroup/").unwrap_or(by), source, "{decision:#?}");
}

/// A thread that may run on the first few CPUs.
#[derive(Debug)]
struct Masked(usize);

impl System for Masked {
    fn mask(&self, _: Option<crate::ThreadNumber>) -> Option<CpuMask> {
        Some((0..self.0).fold(CpuMask::default(), CpuMask::with))
    }
}

const V2: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
const V1: &str = "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                  34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
                  39 31 0:36 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n";
const HYBRID: &str = "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

/// A machine of version 2 whose process is in `a/b/c`.
fn v2(files: &[(&str, &str)]) -> Tree {
    let tree = Tree::new(&[("proc/self/cgroup", "0::/a/b/c\n"), ("proc/self/mountinfo", V2)]);
    std::fs::create_dir_all(tree.path().join("sys/fs/cgroup/a/b/c")).unwrap();
    for (path, text) in files {
        tree.write(&format!("sys/fs/cgroup/{path}"), text);
    }
    tree
}

/// One of version 1, with groups of different depth.
fn v1(files: &[(&str, &str)]) -> Tree {
    let cgroup = "9:name=systemd:/\n4:pids:/p\n3:cpuset:/s/t\n1:cpu,cpuacct:/a/b\n0::/u\n";
    let tree = Tree::new(&[("proc/self/cgroup", cgroup), ("proc/self/mountinfo", &format!("{V1}{HYBRID}"))]);
    for group in ["cpu,cpuacct/a/b", "cpuset/s/t", "pids/p", "unified/u"] {
        std::fs::create_dir_all(tree.path().join("sys/fs/cgroup").join(group)).unwrap();
    }
    for (path, text) in files {
        tree.write(&format!("sys/fs/cgroup/{path}"), text);
    }
    tree
}

#[test]
fn without_files_the_mask_decides() {
    let tree = Tree::new(&[]);
    decides(&tree, 6, 6, "sched_getaffinity");
    assert_eq!(limits(&tree, 6).read(0).len(), 1);
    // An unknown mask leaves it to the standard library.
    let decision = Decision::in_full(0, &|_| None, &mut limits(&tree, 0)).unwrap();
    assert_eq!(decision.inputs[0].source, "available_parallelism");
    assert_eq!(decision.workers, std::thread::available_parallelism().unwrap().get());
}

#[test]
fn a_quota_is_rounded_up_and_is_at_least_one() {
    for (quota, workers) in
        [("400000 100000", 4), ("350000 100000", 4), ("100001 100000", 2), ("100000 100000", 1)]
    {
        decides(&v2(&[("a/b/c/cpu.max", quota)]), 8, workers, "a/b/c/cpu.max");
    }
    for quota in ["50000 100000\n", "1000 100000", "0 100000"] {
        decides(&v2(&[("a/b/c/cpu.max", quota)]), 8, 1, "a/b/c/cpu.max");
    }
}

#[test]
fn the_tightest_of_all_ancestors_counts() {
    let tree = v2(&[
        ("a/b/c/cpu.max", "600000 100000"),
        ("a/b/cpu.max", "max 100000"),
        ("a/cpu.max", "30000 10000"),
        ("cpu.max", "700000 100000"),
    ]);
    decides(&tree, 8, 3, "a/cpu.max");
    // The mask is tighter still.
    decides(&tree, 2, 2, "sched_getaffinity");
    // What is beside the way up is nobody's business.
    tree.write("sys/fs/cgroup/a/x/cpu.max", "100000 100000");
    decides(&tree, 8, 3, "a/cpu.max");
}

#[test]
fn version_1_has_a_hierarchy_for_each_controller() {
    let tree = v1(&[
        ("cpu,cpuacct/a/b/cpu.cfs_quota_us", "-1\n"),
        ("cpu,cpuacct/a/b/cpu.cfs_period_us", "100000\n"),
        ("cpu,cpuacct/a/cpu.cfs_quota_us", "250000\n"),
        ("cpu,cpuacct/a/cpu.cfs_period_us", "100000\n"),
        ("cpuset/s/t/cpuset.effective_cpus", "0-3,8-11\n"),
        ("cpuset/s/cpuset.effective_cpus", "0-15\n"),
        ("pids/p/pids.max", "max\n"),
        ("pids/p/pids.current", "17\n"),
    ]);
    decides(&tree, 64, 3, "cpu,cpuacct/a/cpu.cfs_quota_us");
    tree.write("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "-1");
    decides(&tree, 64, 8, "cpuset/s/t/cpuset.effective_cpus");
    tree.write("sys/fs/cgroup/pids/p/pids.max", "20");
    decides(&tree, 64, 3, "pids/p/pids.max");
    decides(&tree, 2, 2, "sched_getaffinity");
}

/// Some controllers are in version 2, others not yet.
#[test]
fn both_versions_at_once() {
    let tree = v1(&[
        ("unified/u/cpu.max", "500000 100000"),
        ("cpu,cpuacct/cpu.cfs_quota_us", "600000"),
        ("cpu,cpuacct/cpu.cfs_period_us", "100000"),
    ]);
    decides(&tree, 64, 5, "unified/u/cpu.max");
    tree.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "400000");
    decides(&tree, 64, 4, "cpu,cpuacct/cpu.cfs_quota_us");
}

#[test]
fn a_container_sees_its_group_as_the_root() {
    let tree = Tree::new(&[
        ("proc/self/cgroup", "0::/\n"),
        ("proc/self/mountinfo", V2),
        ("sys/fs/cgroup/cpu.max", "150000 100000"),
        ("sys/fs/cgroup/cpuset.cpus.effective", "4-7"),
    ]);
    decides(&tree, 8, 2, "cpu.max");
    decides(&tree, 1, 1, "sched_getaffinity");
}

#[test]
fn what_is_malformed_is_no_limit() {
    let texts = [
        "",
        "max",
        "100000",
        "x y",
        "-1 100000",
        "100000 0",
        "1 2 3",
        "1e5 100000",
        "99999999999999999999 1",
    ];
    for text in texts {
        decides(&v2(&[("a/b/c/cpu.max", text)]), 8, 8, "sched_getaffinity");
        let period = ("cpu,cpuacct/a/b/cpu.cfs_period_us", "100000");
        if text != "100000" {
            decides(&v1(&[("cpu,cpuacct/a/b/cpu.cfs_quota_us", text), period]), 8, 8, "sched_getaffinity");
        }
        decides(&v1(&[("pids/p/pids.max", text), ("pids/p/pids.current", "x")]), 8, 8, "sched_getaffinity");
        decides(&v2(&[("a/b/c/cpuset.cpus.effective", &format!("{text},x"))]), 8, 8, "sched_getaffinity");
    }
    // Half of version 1's pair is missing, or a directory is where a file should be.
    decides(&v1(&[("cpu,cpuacct/a/b/cpu.cfs_quota_us", "100000")]), 8, 8, "sched_getaffinity");
    decides(&v2(&[("a/b/c/cpu.max/oddity", "")]), 8, 8, "sched_getaffinity");
    decides(&v2(&[("a/b/c/cpuset.cpus.effective", "\n")]), 8, 8, "sched_getaffinity");
    for name in ["proc/self/cgroup", "proc/self/mountinfo"] {
        let tree = v2(&[("a/b/c/cpu.max", "100000 100000")]);
        tree.write(name, "garbage\n\u{0}\n");
        decides(&tree, 8, 8, "sched_getaffinity");
    }
}

#[test]
fn threads_that_exist_are_no_room_but_the_askers_own() {
    let tree = v2(&[("a/pids.max", "12"), ("a/pids.current", "9")]);
    decides(&tree, 8, 3, "a/pids.max");
    assert_eq!(limits(&tree, 8).workers(5), 8);
    assert_eq!(limits(&tree, 8).workers(2), 5);
    tree.write("sys/fs/cgroup/a/pids.current", "14");
    decides(&tree, 8, 1, "a/pids.max");
}

#[test]
fn a_user_may_have_so_many_processes() {
    let text = |most: &str| {
        format!("Limit      Soft Limit  Hard Limit  Units\nMax processes   {most}  99  processes\n")
    };
    let status = |uid, rights| format!("Name:\tx\nUid:\t{uid}\t0\t0\t0\nThreads:\t2\nCapEff:\t{rights}\n");
    let decides = |most: &str, status: &str, workers| {
        let tree = Tree::new(&[("proc/self/limits", &text(most)), ("proc/self/status", status)]);
        let source = if workers < 8 { "/proc/self/limits" } else { "sched_getaffinity" };
        decides(&tree, 8, workers, source);
    };
    decides("5", &status("1000", "0"), 3);
    decides("5", "", 4);
    decides("1", &status("1000", "0"), 1);
    decides("unlimited", &status("1000", "0"), 8);
    decides("x", &status("1000", "0"), 8);
    // The kernel does not hold these to it.
    decides("5", &status("0", "0"), 8);
    decides("5", &status("1000", "0000000001000000"), 8);
    decides("5", &status("1000", "0000000000200000"), 8);
}

/// A limit that changes is seen, and so is a process that is moved.
#[test]
fn limits_are_read_again() {
    let tree = v2(&[("a/b/c/cpu.max", "200000 100000"), ("z/cpu.max", "500000 100000")]);
    let mut limits = limits(&tree, 8);
    assert_eq!(limits.workers(0), 2);
    tree.write("sys/fs/cgroup/a/b/c/cpu.max", "max 100000");
    assert_eq!(limits.workers(0), 8);
    // A controller that was not there before.
    tree.write("sys/fs/cgroup/a/cpuset.cpus.effective", "0-2");
    assert_eq!(limits.workers(0), 3);
    tree.write("proc/self/cgroup", "0::/z\n");
    assert_eq!(limits.workers(0), 5);
    std::fs::remove_file(tree.path().join("proc/self/cgroup")).unwrap();
    assert_eq!(limits.workers(0), 8);
}

#[test]
fn program_and_environment_come_first() {
    let decide = |asked, variables: &[(&str, &str)]| {
        let value = |name: &str| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| value.into())
        };
        let decision = Decision::in_full(asked, &value, &mut limits(&v2(&[]), 8)).unwrap();
        (decision.workers, decision.inputs[decision.by.unwrap()].source.clone())
    };
    let (own, rayons, old) = ("HEIST_NUM_THREADS", "RAYON_NUM_THREADS", "RAYON_RS_NUM_CPUS");
    let mask = "sched_getaffinity";
    for (asked, variables, workers, by) in [
        (0, &[][..], 8, mask),
        (3, &[], 3, "num_threads"),
        // More than the machine has, if that is the wish.
        (30, &[], 30, "num_threads"),
        (0, &[(own, "30")], 30, own),
        (3, &[(own, "2")], 2, own),
        (3, &[(own, "3")], 3, "num_threads"),
        (3, &[(own, "4")], 3, "num_threads"),
        (0, &[(own, " 4 ")], 4, own),
        (0, &[(own, "0")], 8, mask),
        (0, &[(own, "00")], 8, mask),
        (0, &[(own, "")], 8, mask),
        (3, &[(own, "0")], 3, "num_threads"),
        (0, &[(own, "0"), (rayons, "5")], 5, rayons),
        (0, &[(own, "6"), (rayons, "5")], 6, own),
        (3, &[(rayons, "2")], 2, rayons),
        (3, &[(rayons, "4")], 3, "num_threads"),
        (4, &[(own, "3"), (rayons, "2")], 3, own),
        (0, &[(rayons, "5"), (old, "6")], 5, rayons),
        (0, &[(rayons, "x"), (old, "6")], 6, old),
        (0, &[(rayons, "0"), (old, "6")], 8, mask),
        (0, &[(rayons, "-1")], 8, mask),
        (0, &[(old, "7")], 7, old),
    ] {
        assert_eq!(decide(asked, variables), (workers, by.to_string()), "{asked} {variables:?}");
    }
    for bad in ["x", "-1", "1.5", "99999999999999999999"] {
        let error = Decision::in_full(2, &|_| Some(bad.into()), &mut limits(&v2(&[]), 8)).unwrap_err();
        assert!(error.to_string().contains(&format!("HEIST_NUM_THREADS={bad:?}")), "{error}");
    }
}

/// This machine, whatever it is.
#[test]
fn this_machine_allows_something() {
    let decision = Decision::in_full(0, &|_| None, &mut Limits::new()).unwrap();
    println!("{decision:#?}");
    assert!(decision.workers >= 1 && decision.by.is_some());
    assert!(decision.inputs.iter().all(|input| !input.source.is_empty()));
    let smallest = decision.inputs.iter().filter_map(|input| input.allows.workers()).min();
    assert_eq!(Some(decision.workers), smallest.map(|workers| workers.max(1)));
    assert!(Path::new("/proc/self/cgroup").exists() || decision.inputs.len() == 1);
}
