//! A pool that follows the machine's limits, here the CPUs that the process may use, and the line about every pool that the environment asks
//! for.

#![cfg(target_os = "linux")]

use crate::rig::child;
use crate::rig::watchdog::watch;
use heist::{ThreadPool, ThreadPoolBuilder};
use std::time::{Duration, Instant};

type Mask = [u64; 16];

unsafe extern "C" {
    fn sched_getaffinity(tid: i32, size: usize, mask: *mut Mask) -> i32;
    fn sched_setaffinity(tid: i32, size: usize, mask: *const Mask) -> i32;
}

fn mask() -> Mask {
    let mut mask = [0; 16];
    // SAFETY: the kernel writes at most that many bytes.
    assert!(unsafe { sched_getaffinity(0, size_of_val(&mask), &raw mut mask) } >= 0);
    mask
}

/// As `taskset -a -p` does it: for every thread of the process.
fn set_mask(mask: &Mask) {
    for thread in std::fs::read_dir("/proc/self/task").unwrap() {
        let tid = thread.unwrap().file_name().to_str().unwrap().parse().unwrap();
        // SAFETY: the kernel reads that many bytes. A thread may have ended meanwhile.
        let _ = unsafe { sched_setaffinity(tid, size_of_val(mask), mask) };
    }
}

/// Runs the test again in a process of its own, with `HEIST_NUM_THREADS` or without.
fn rerun(name: &str, threads: Option<&str>) {
    let mut child = child::child(module_path!(), name, "1");
    for variable in ["HEIST_NUM_THREADS", "RAYON_NUM_THREADS", "RAYON_RS_NUM_CPUS"] {
        child.env_remove(variable);
    }
    child.envs(threads.map(|threads| ("HEIST_NUM_THREADS", threads)));
    print!("{}", child::ends_well(&mut child));
}

/// The CPUs that the process may use, and one of them. `None` if there is but one.
fn all_and_one() -> Option<(Mask, Mask)> {
    let all = mask();
    if all.iter().map(|bits| bits.count_ones()).sum::<u32>() < 2 {
        println!("skipped: one CPU, nothing to follow");
        return None;
    }
    let word = all.iter().position(|&bits| bits != 0).expect("it runs somewhere");
    let mut one = [0; 16];
    one[word] = all[word] & all[word].wrapping_neg();
    Some((all, one))
}

/// How often the thread that follows has gone to sleep. Waits until it has its name.
fn sleeps() -> u64 {
    loop {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path());
        let status = tasks.map(|task| std::fs::read_to_string(task.join("status")).unwrap_or_default());
        let of_it = status.filter(|status| status.contains("heist-limits")).collect::<String>();
        if let Some(line) = of_it.lines().find(|line| line.starts_with("voluntary_ctxt_switches")) {
            return line.rsplit('\t').next().unwrap().parse().unwrap();
        }
        std::thread::yield_now();
    }
}

/// Waits until that thread sleeps because the pool is idle: it is not switched in for seconds.
#[track_caller]
fn wait_until_asleep() {
    let begun = Instant::now();
    loop {
        let before = sleeps();
        std::thread::sleep(Duration::from_millis(2500));
        if sleeps() == before {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "it does not sleep");
    }
}

/// Keeps the pool busy until `n` are active. How soon that is, is measured by the benchmark (`resize`).
#[track_caller]
fn busy_until(pool: &ThreadPool, n: usize) {
    let begun = Instant::now();
    while pool.active_num_threads() != n {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "{} are active, not {n}",
            pool.active_num_threads()
        );
        pool.join(|| std::thread::sleep(Duration::from_millis(1)), || ());
    }
}

#[test]
fn a_busy_pool_follows_and_an_idle_one_sleeps() {
    let _watch = watch!();
    if child::case().is_none() {
        return rerun("a_busy_pool_follows_and_an_idle_one_sleeps", None);
    }
    let Some((all, one)) = all_and_one() else { return };
    let pool =
        ThreadPoolBuilder::new().num_threads(2).max_num_threads(2).follow_limits(true).build().unwrap();
    for _ in 0..2 {
        set_mask(&one);
        busy_until(&pool, 1);
        set_mask(&all);
        busy_until(&pool, 2);
    }
    wait_until_asleep();
}

/// The program's own threads are the only ones that work in the pool, and nobody is woken for them.
#[test]
fn a_pool_follows_that_is_busy_with_guests_alone() {
    let _watch = watch!();
    if child::case().is_none() {
        return rerun("a_pool_follows_that_is_busy_with_guests_alone", None);
    }
    let Some((all, one)) = all_and_one() else { return };
    set_mask(&one);
    let pool = ThreadPoolBuilder::new().max_num_threads(2).follow_limits(true).guests(true).build().unwrap();
    assert_eq!(pool.active_num_threads(), 1);
    wait_until_asleep();
    set_mask(&all);
    pool.install(|| {
        let begun = Instant::now();
        while pool.active_num_threads() != 2 {
            assert!(begun.elapsed() < Duration::from_secs(10), "a guest works, and nobody follows");
            std::thread::yield_now();
        }
    });
}

/// No thread at all is the program's wish, and no limit's.
#[test]
fn a_pool_that_was_stopped_is_not_started_by_a_limit() {
    let _watch = watch!();
    if child::case().is_none() {
        return rerun("a_pool_that_was_stopped_is_not_started_by_a_limit", None);
    }
    let Some((all, one)) = all_and_one() else { return };
    set_mask(&one);
    let pool = ThreadPoolBuilder::new().max_num_threads(2).follow_limits(true).build().unwrap();
    // From here on it looks once more, within a second.
    pool.join(|| (), || ());
    pool.set_num_threads(0).unwrap();
    set_mask(&all);
    wait_until_asleep();
    assert_eq!(pool.active_num_threads(), 0);
    pool.set_num_threads(1).unwrap();
    busy_until(&pool, 2);
}

#[test]
fn a_limit_does_not_raise_what_the_variable_has_lowered() {
    let _watch = watch!();
    if child::case().is_none() {
        return rerun("a_limit_does_not_raise_what_the_variable_has_lowered", Some("1"));
    }
    let Some((all, one)) = all_and_one() else { return };
    set_mask(&one);
    let pool =
        ThreadPoolBuilder::new().num_threads(2).max_num_threads(2).follow_limits(true).build().unwrap();
    assert_eq!(pool.active_num_threads(), 1);
    set_mask(&all);
    // It looks once a second while the pool is busy.
    let before = sleeps();
    while sleeps() < before + 4 {
        pool.join(|| std::thread::sleep(Duration::from_millis(1)), || ());
    }
    assert_eq!(pool.active_num_threads(), 1);
    // The program may.
    pool.set_num_threads(2).unwrap();
    assert_eq!(pool.active_num_threads(), 2);
}

#[test]
fn the_thread_that_follows_leaves_with_its_pool() {
    let _watch = watch!();
    let name = "the_thread_that_follows_leaves_with_its_pool";
    if child::case().is_none() {
        child::ends_well(&mut child::child(module_path!(), name, "1"));
        return;
    }
    let followers = || {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path());
        let names = tasks.map(|task| std::fs::read_to_string(task.join("comm")).unwrap_or_default());
        names.filter(|name| name.trim() == "heist-limits").count()
    };
    // If it slept until it would look again, these would take minutes.
    for _ in 0..200 {
        ThreadPoolBuilder::new().num_threads(1).follow_limits(true).build().unwrap().shutdown().unwrap();
        while followers() > 0 {
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_line_about_every_pool_is_printed_every_so_often() {
    let _watch = watch!();
    let name = "a_line_about_every_pool_is_printed_every_so_often";
    if let Some(case) = child::case() {
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(if case == "lines" { 400 } else { 10 }) {
            pool.join(|| std::thread::sleep(Duration::from_millis(1)), || ());
        }
        return;
    }
    let printed = |case: &str, value: &str| {
        let output =
            child::child(module_path!(), name, case).env("HEIST_SCHEDTRACE", value).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let text = printed("lines", "50");
    let lines: Vec<_> = text.lines().filter(|line| line.starts_with("heist: sched ")).collect();
    assert!(lines.len() >= 2, "{text}");
    for line in lines {
        let (head, fields) = line.split_once(": ").unwrap().1.split_once(": ").unwrap();
        assert!(head.contains("ms pool "), "{line}");
        let names: Vec<_> = fields.split(' ').filter_map(|field| Some(field.split_once('=')?.0)).collect();
        let expected =
            "active running parked searching threads lent injected queues due_ticks steals wakes pid";
        assert_eq!(names.join(" "), expected, "{line}");
        assert!(fields.starts_with("active=2 "), "{line}");
    }
    assert!(printed("error", "often").contains("is not a number of milliseconds"));
    assert_eq!(printed("error", ""), "");
}
