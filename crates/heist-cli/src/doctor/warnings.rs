//! What hurts, and what to do about it.

use super::facts::{Facts, Presence};
use heist_os::limits::{Allows, Input};

/// Something that slows a pool down.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Warning {
    /// Its name, for scripts.
    pub name: &'static str,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub advice: &'static str,
}

/// A thread that computes and has less of its time than this shares its CPU with somebody. An otherwise idle machine gives 99 %.
const LEAST_CPU_SHARE: f64 = 0.95;
/// A host that gives more than this to others makes every wake-up late now and then.
const MOST_STEAL_SHARE: f64 = 0.01;

/// All that there is to say.
pub fn of(facts: &Facts) -> Vec<Warning> {
    let parts = [quota(facts), too_many(facts), noise(facts), stolen(facts)];
    let calls = [membarrier(facts), epoll_pwait2(facts), os_hints(facts)];
    parts.into_iter().chain(calls).flatten().collect()
}

/// The tightest group decides how long everybody in it stands still.
fn quota(facts: &Facts) -> Option<Warning> {
    let cores = |input: &Input| match input.allows {
        Allows::Cpu { quota_us, period_us } => Some((quota_us as f64 / period_us as f64, period_us)),
        _ => None,
    };
    let quotas = facts.decision.inputs.iter().filter_map(|input| Some((cores(input)?, input)));
    let ((cores, period_us), input) = quotas.min_by(|a, b| a.0.0.total_cmp(&b.0.0))?;
    (cores < 1.0).then(|| Warning {
        name: "quota-below-one-core",
        message: format!(
            "{} allows {:.2} of one core: a worker that computes is stopped for {:.0} of every {:.0} ms",
            input.source,
            cores,
            (1.0 - cores) * period_us as f64 / 1e3,
            period_us as f64 / 1e3
        ),
        advice: "Raise the quota to at least one core (cpu.max, docker --cpus, limits.cpu), or expect everything to be late by that much.",
    })
}

fn too_many(facts: &Facts) -> Option<Warning> {
    let (by, allowed) = facts.decision.allowed();
    let by = by.map_or(String::new(), |by| format!(" ({}: {})", by.source, by.raw));
    let asked = facts.decision.by.map(|at| &facts.decision.inputs[at])?;
    (facts.decision.workers > allowed).then(|| Warning {
        name: "more-workers-than-cores",
        message: format!(
            "{}={} asks for more workers than the machine allows, which is {allowed}{by}",
            asked.source, asked.raw
        ),
        advice: "Ask for fewer, or do not say: workers beyond the cores wait for each other. Wrap what blocks in heist::blocking instead.",
    })
}

fn noise(facts: &Facts) -> Option<Warning> {
    let noise = facts.noise?;
    noise.cpu_share.filter(|&share| share < LEAST_CPU_SHARE).map(|share| Warning {
        name: "noisy-host",
        message: format!(
            "of {} threads that computed, one had a CPU for only {:.0} % of the time: other programs or a quota take the rest",
            noise.threads,
            share * 100.0
        ),
        advice: "Measure and meet deadlines on a quiet machine, or give this one fewer workers (HEIST_NUM_THREADS).",
    })
}

fn stolen(facts: &Facts) -> Option<Warning> {
    facts.noise?.steal_share.filter(|&share| share > MOST_STEAL_SHARE).map(|share| Warning {
        name: "stolen-time",
        message: format!(
            "the host took {:.1} % of the CPUs' time for other machines (steal in /proc/stat)",
            share * 100.0
        ),
        advice: "Nothing in this machine helps; ask for cores of its own.",
    })
}

fn membarrier(facts: &Facts) -> Option<Warning> {
    let (message, advice) = match facts.membarrier {
        Presence::Yes | Presence::Unknown => return None,
        Presence::OffBy(variable) => (
            format!("{variable} turns membarrier off"),
            "Unset it, unless a seccomp filter comes later than the program's start.",
        ),
        Presence::Refused => (
            "the system refuses membarrier".into(),
            "Let the sandbox allow it (seccomp profile), or use Linux 4.14.",
        ),
    };
    Some(Warning {
        name: "membarrier-refused",
        message: format!("{message}: every fork fences, and costs about 20 ns instead of 3"),
        advice,
    })
}

fn epoll_pwait2(facts: &Facts) -> Option<Warning> {
    (facts.epoll_pwait2 == Presence::Refused).then(|| Warning {
        name: "epoll-pwait2-refused",
        message: "the system refuses epoll_pwait2: timers and ticks of an idle pool are late by up to a millisecond".into(),
        advice: "Let the sandbox allow it (seccomp profile), or use Linux 5.11.",
    })
}

fn os_hints(facts: &Facts) -> Option<Warning> {
    let Presence::OffBy(variable) = facts.os_hints else { return None };
    Some(Warning {
        name: "os-hints-off",
        message: format!(
            "{variable}=0 turns the hints off: jobs behind a task that blocks wait for 20 ms, woken threads may share a core with their \
             waker, and nobody is rescued"
        ),
        advice: "Unset it, unless the program places its threads itself.",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::noise::Noise;
    use heist_os::limits::{Decision, Kind};

    fn input(kind: Kind, source: &str, allows: Allows) -> Input {
        Input { kind, source: source.into(), raw: "raw".into(), allows }
    }

    /// Four CPUs, a generous quota, and nothing wrong.
    fn fine() -> Facts {
        let inputs = vec![
            input(Kind::Affinity, "sched_getaffinity", Allows::Workers(4)),
            input(Kind::Quota, "/cpu.max", Allows::Cpu { quota_us: 400_000, period_us: 100_000 }),
            input(Kind::Quota, "/a/cpu.max", Allows::Everything),
        ];
        Facts {
            decision: Decision { workers: 4, by: Some(0), inputs },
            membarrier: Presence::Yes,
            epoll_pwait2: Presence::Yes,
            os_hints: Presence::Yes,
            topology: None,
            noise: Some(Noise { threads: 4, cpu_share: Some(0.99), steal_share: Some(0.0) }),
        }
    }

    #[track_caller]
    fn says(facts: &Facts, name: &str, parts: &[&str]) {
        let warnings = of(facts);
        let [warning] = &warnings[..] else { panic!("one warning is expected: {warnings:?}") };
        assert_eq!(warning.name, name);
        for part in parts {
            assert!(warning.message.contains(part), "{part:?} is not in: {}", warning.message);
        }
    }

    #[test]
    fn nothing_wrong_nothing_said() {
        assert_eq!(of(&fine()), []);
        let mut unknown = fine();
        unknown.membarrier = Presence::Unknown;
        unknown.epoll_pwait2 = Presence::Unknown;
        unknown.os_hints = Presence::Unknown;
        unknown.noise = Some(Noise { threads: 1, cpu_share: None, steal_share: None });
        assert_eq!(of(&unknown), []);
        unknown.noise = None;
        assert_eq!(of(&unknown), []);
        // Exactly one core is enough.
        let mut one = fine();
        one.decision.inputs[1].allows = Allows::Cpu { quota_us: 100_000, period_us: 100_000 };
        one.decision.workers = 1;
        assert_eq!(of(&one), []);
    }

    #[test]
    fn each_thing_is_said_alone() {
        let change = |change: &dyn Fn(&mut Facts)| {
            let mut facts = fine();
            change(&mut facts);
            facts
        };
        let half = change(&|facts| {
            facts.decision.inputs[2].allows = Allows::Cpu { quota_us: 25_000, period_us: 50_000 };
            facts.decision.workers = 1;
        });
        says(&half, "quota-below-one-core", &["/a/cpu.max", "0.50 of one core", "25 of every 50 ms"]);
        let many = change(&|facts| {
            facts.decision.inputs.insert(0, input(Kind::Variable, "HEIST_NUM_THREADS", Allows::Workers(9)));
            facts.decision.workers = 9;
        });
        says(
            &many,
            "more-workers-than-cores",
            &["HEIST_NUM_THREADS=raw", "which is 4 (sched_getaffinity: raw)"],
        );
        let noise = |cpu, steal| Some(Noise { threads: 2, cpu_share: Some(cpu), steal_share: Some(steal) });
        says(&change(&|facts| facts.noise = noise(0.5, 0.0)), "noisy-host", &["2 threads", "50 %"]);
        says(&change(&|facts| facts.noise = noise(1.0, 0.031)), "stolen-time", &["3.1 %"]);
        says(
            &change(&|facts| facts.membarrier = Presence::Refused),
            "membarrier-refused",
            &["system refuses"],
        );
        let off = Presence::OffBy("HEIST_FENCED");
        says(&change(&|facts| facts.membarrier = off), "membarrier-refused", &["HEIST_FENCED turns"]);
        says(
            &change(&|facts| facts.epoll_pwait2 = Presence::Refused),
            "epoll-pwait2-refused",
            &["millisecond"],
        );
        let off = Presence::OffBy("HEIST_OS_HINTS");
        says(&change(&|facts| facts.os_hints = off), "os-hints-off", &["HEIST_OS_HINTS=0"]);
    }
}
