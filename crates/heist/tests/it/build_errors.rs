//! An error says what was wrong and what to do about it, and what has no effect is not passed over in silence.

use crate::rig::child;
use crate::rig::watchdog::watch;
use heist::{ThreadPoolBuildError, ThreadPoolBuilder};
use std::error::Error;
use std::io;

/// What an error shows when it is unwrapped has all these parts.
#[track_caller]
fn says<T>(result: Result<T, ThreadPoolBuildError>, parts: &[&str]) {
    let Err(error) = result else { panic!("no error, where one should say {parts:?}") };
    let text = format!("{error:?}");
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in: {text}");
    }
}

fn builder(n: usize) -> ThreadPoolBuilder {
    ThreadPoolBuilder::new().num_threads(n)
}

#[test]
fn the_calling_thread_can_be_in_one_pool_only() {
    let _watch = watch!();
    let again = builder(1).build().unwrap().install(|| builder(1).use_current_thread().build());
    let words = "The current thread is already part of another thread pool.";
    assert_eq!(
        again.as_ref().err().map(ThreadPoolBuildError::to_string).as_deref(),
        Some(words),
        "rayon's words"
    );
    says(again, &[words, "leave out use_current_thread"]);
}

#[test]
fn a_stack_that_no_thread_can_have() {
    let _watch = watch!();
    says(
        builder(1).stack_size(usize::MAX).build(),
        &[&format!("stack_size({})", usize::MAX), "ask for less"],
    );
}

/// The error of the handler is told as the handler's, whichever thread it was, and is the source.
#[test]
fn a_spawn_handler_that_fails() {
    let _watch = watch!();
    for kind in [io::ErrorKind::WouldBlock, io::ErrorKind::InvalidInput] {
        for failing in [0, 1] {
            let spawn = |thread: heist::ThreadBuilder| {
                if thread.index() == failing {
                    return Err(io::Error::new(kind, "no room"));
                }
                std::thread::Builder::new().spawn(move || thread.run())?;
                Ok(())
            };
            let error = builder(2).spawn_handler(spawn).build().unwrap_err();
            let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
            assert_eq!(source.map(io::Error::kind), Some(kind), "{error}");
            let text = error.to_string();
            assert!(!text.contains("not one thread"), "{text}");
            says::<()>(Err(error), &["spawn_handler", "no room", "ask for fewer"]);
        }
    }
}

/// What the program asks for in one line and rules out in another.
#[test]
fn rescue_that_the_program_rules_out() {
    let _watch = watch!();
    let rescued = |n| builder(n).rescue_blocked(true);
    says(rescued(2).os_hints(false).build(), &["rescue_blocked(true)", "os_hints(false)", "leave one"]);
    says(rescued(2).max_threads(2).build(), &["rescue_blocked(true)", "max_threads(2)", "raise max_threads"]);
    let spawn = |thread: heist::ThreadBuilder| {
        std::thread::Builder::new().spawn(move || thread.run())?;
        Ok(())
    };
    says(rescued(2).spawn_handler(spawn).build(), &["rescue_blocked(true)", "spawn_handler", "leave one"]);
    says(rescued(2).build_scoped(|thread| thread.run(), |_| ()), &["rescue_blocked(true)", "build_scoped"]);
    std::thread::spawn(move || {
        says(rescued(1).use_current_thread().build(), &["rescue_blocked(true)", "calling thread alone"]);
        // It is in no pool after the error.
        builder(1).use_current_thread().build().unwrap();
    })
    .join()
    .unwrap();
    // With room for one more, or without the wish, it is fine.
    rescued(2).max_threads(3).os_hints(true).build().unwrap();
    builder(2).rescue_blocked(false).max_threads(2).os_hints(false).build().unwrap();
}

/// So with the CPUs on which threads are kept.
#[test]
fn a_pin_that_the_program_rules_out() {
    let _watch = watch!();
    let pinned = || builder(2).pin(heist::Pin::Node);
    says(pinned().os_hints(false).build(), &["pin(Pin::Node)", "os_hints(false)", "leave one"]);
    pinned().os_hints(true).build().unwrap();
    builder(2).pin(heist::Pin::None).os_hints(false).build().unwrap();
}

fn rerun(name: &str, case: &str, variables: &[(&str, &str)]) -> String {
    let mut child = child::child(module_path!(), name, case);
    for variable in ["HEIST_NUM_THREADS", "RAYON_NUM_THREADS", "HEIST_RESCUE", "HEIST_OS_HINTS"] {
        child.env_remove(variable);
    }
    child::ends_well(child.envs(variables.iter().copied()))
}

/// A number that comes from a variable is told by the variable's name.
#[test]
fn a_number_from_the_environment() {
    let _watch = watch!();
    let name = "a_number_from_the_environment";
    let Some(variable) = child::case() else {
        says(builder(1_000_000).build(), &["num_threads(1000000)", "more than a pool can have", "fewer"]);
        for variable in ["HEIST_NUM_THREADS", "RAYON_NUM_THREADS"] {
            rerun(name, variable, &[(variable, "1000000")]);
        }
        return;
    };
    says(builder(0).build(), &[&format!("{variable}=1000000"), "more than a pool can have", "fewer"]);
    says(builder(0).max_threads(2).build(), &[&variable, "more than a pool can have"]);
    // What the program asks for stands if it is less.
    assert_eq!(builder(2).build().unwrap().current_num_threads(), 2);
}

#[test]
fn a_bound_below_a_number_from_the_environment() {
    let _watch = watch!();
    let name = "a_bound_below_a_number_from_the_environment";
    if child::case().is_none() {
        says(builder(4).max_threads(3).build(), &["max_threads(3)", "the 4 threads", "lower num_threads"]);
        rerun(name, "1", &[("HEIST_NUM_THREADS", "4")]);
        return;
    }
    says(builder(0).max_threads(3).build(), &["max_threads(3)", "lower HEIST_NUM_THREADS"]);
    says(builder(9).max_threads(3).build(), &["max_threads(3)", "lower HEIST_NUM_THREADS"]);
}

/// A switch that says neither 0 nor 1 is told of once, and counts as unset.
#[test]
fn a_switch_that_means_nothing() {
    let _watch = watch!();
    let name = "a_switch_that_means_nothing";
    if child::case().is_some() {
        for _ in 0..2 {
            // Rescue would be a warning: it needs spare threads.
            assert_eq!(builder(1).max_threads(1).build().unwrap().install(|| 1), 1);
        }
        return;
    }
    let switches = ["HEIST_RESCUE", "HEIST_GUESTS", "HEIST_OS_HINTS", "HEIST_FENCED"];
    let stderr = rerun(name, "1", &switches.map(|switch| (switch, "false")));
    for switch in switches {
        let about = format!("heist: {switch}=\"false\" means nothing; the values are 0 and 1");
        assert_eq!(stderr.lines().filter(|line| **line == about).count(), 1, "{switch}: {stderr}");
    }
    assert!(!stderr.contains("has no effect"), "{stderr}");
    assert_eq!(rerun(name, "1", &switches.map(|switch| (switch, ""))), "");
}

/// What the environment has a part in is a warning, once, and the program goes on.
#[test]
fn rescue_that_the_environment_rules_out() {
    let _watch = watch!();
    let name = "rescue_that_the_environment_rules_out";
    let Some(case) = child::case() else {
        let warned = |case: &str, variables: &[(&str, &str)], parts: &[&str]| {
            let stderr = rerun(name, case, variables);
            let warnings: Vec<_> = stderr.lines().filter(|line| line.contains("has no effect")).collect();
            let [warning] = warnings[..] else { panic!("one warning is expected: {stderr}") };
            for part in parts {
                assert!(warning.contains(part), "{part:?} is not in: {warning}");
            }
        };
        warned("hints", &[("HEIST_OS_HINTS", "0")], &["rescue_blocked(true)", "HEIST_OS_HINTS=0", "unset"]);
        warned("bound", &[("HEIST_RESCUE", "1")], &["HEIST_RESCUE", "max_threads(2)"]);
        warned("off", &[("HEIST_RESCUE", "1")], &["HEIST_RESCUE", "os_hints(false)"]);
        warned("number", &[("HEIST_NUM_THREADS", "2")], &["rescue_blocked(true)", "max_threads(2)"]);
        return;
    };
    for _ in 0..2 {
        let pool = match &*case {
            "hints" => builder(2).rescue_blocked(true).build(),
            "bound" => builder(2).max_threads(2).build(),
            "off" => builder(2).os_hints(false).build(),
            _ => builder(0).rescue_blocked(true).max_threads(2).build(),
        };
        assert_eq!(pool.unwrap().join(|| 1, || 2), (1, 2));
    }
}
