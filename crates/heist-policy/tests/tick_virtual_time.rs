//! The tick policy in virtual time: some thousand random sets of ticks on 1 to 8 workers, by the functions that the workers call.
//!
//! # The bound
//!
//! Workers run ticks without interruption, in the order in which they are due. That is non-preemptive global earliest-deadline-first
//! (EDF) scheduling in which every tick has the same relative deadline `Y`: adding one constant to all due times leaves their order alone.
//! U. Devi and J. Anderson, "Tardiness bounds under global EDF scheduling on a multiprocessor" (RTSS 2005; Real-Time Systems 38, 2008),
//! bound how far such a schedule falls behind one that gives every tick its share `u = cost / period` at every moment. They assume that
//! no processor idles or starts something less urgent while a job that may run waits, that each task runs one job at a time, that no
//! task needs more than one processor and that all together need at most `m`. With their argument, for deadlines that are no periods:
//!
//! - Let `d` be the deadline (due time + `Y`) of the first run that ends later than `d + x + cost`. At `d`, what has a deadline up to `d`
//!   lacks at most `LAG` of its shares, and `S`, the sum of `u * (period - Y)` of longer periods, is not due to be done. Runs with later
//!   deadlines that have begun still need `B`. If `LAG + S + B <= m * x + cost`, then `m` processors, all of which work on this until
//!   our run has one, are so far by `d + x` that it ends in time: a contradiction.
//! - `LAG + B` does not grow while all `m` processors work on these runs. Before that, at most `m - 1` of them were running and none
//!   waited; each lacks at most `cost + u * (x + Y - period)` (without `Y - period` if that is negative), because it ends in time. The
//!   other processors may have begun something with a later deadline, `cost` each. Together these are at most `m` costs.
//!
//! So `x = (the m largest costs - the least cost + S + L) / (m - the m - 1 largest u)` will do, where `L` is the sum of the `m - 1`
//! largest `u * (Y - period)`; a run ends at most `Y + x + cost` after it was due, for whichever `Y` is the best. If all periods are the
//! same, `Y` is this period, `S` and `L` vanish, and what is left is the tardiness bound for EDF: `x + cost` past the end of the period.
//! Of ticks with different periods the one that is due first runs first, even if its period ends later; so a tick that is faster than
//! others may wait longer than EDF by the ends of periods would let it, and has the wider bound.
//!
//! # Stealing
//!
//! Until it is late by `steal_after`, only its own worker sees a tick. Take each to be released that much later: from then on the
//! assumption holds, because workers wake up for it and take the most overdue. Its own worker may run it earlier, which only takes
//! work away; and what it begins early is one of the runs with later deadlines above. So every run ends at most `steal_after` later, once,
//! however often ticks are stolen. The periods that are skipped are released by nobody, and the others stay a period apart.

use heist_policy::tick::{Load, NEVER, Overrun, TickChoice, TickView, after_run, nearest, next_tick, place};
use heist_policy::tuning::TICK_STEAL_AFTER_NS;
use std::collections::BTreeSet;

const MS: u64 = 1_000_000;

/// A generator of random numbers (splitmix64): each case replays from its number alone.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From `from` up to and including `to`.
    fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.next() % (to - from + 1)
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.next().is_multiple_of(n)
    }

    fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// A tick and the longest that one of its runs takes.
#[derive(Clone, Debug)]
struct Tick {
    period_ns: u64,
    cost_ns: u64,
    first_due_ns: u64,
    overrun: Overrun,
}

impl Tick {
    fn utilisation(&self) -> f64 {
        self.cost_ns as f64 / self.period_ns as f64
    }
}

#[derive(Debug)]
struct Case {
    number: u64,
    workers: usize,
    ticks: Vec<Tick>,
    /// After which lateness ticks are stolen; [`NEVER`]: not at all.
    steal_after_ns: u64,
    all_start_on_one: bool,
    costs_vary: bool,
}

impl Case {
    /// Ticks that need about `load` of all workers.
    fn new(number: u64, load: impl Fn(&mut Random) -> f64) -> Self {
        let mut random = Random(number);
        let workers = random.between(1, 8) as usize;
        let load = load(&mut random);
        let same_period_ns = random.one_in(3).then(|| random.between(1, 100) * MS);
        let all_at_once = random.one_in(4);
        let weights: Vec<f64> = (0..random.between(1, 12 * workers as u64))
            .map(|_| if random.one_in(10) { 10.0 } else { 0.1 + random.fraction() })
            .collect();
        let utilisation = load * workers as f64 / weights.iter().sum::<f64>();
        let ticks = weights.iter().map(|weight| {
            let period_ns = same_period_ns.unwrap_or_else(|| random.between(MS, 100 * MS));
            Tick {
                period_ns,
                cost_ns: (utilisation * weight * period_ns as f64).max(1.0) as u64,
                first_due_ns: if all_at_once { 0 } else { random.between(0, period_ns) },
                overrun: Overrun::Skip,
            }
        });
        Self {
            ticks: ticks.collect(),
            number,
            workers,
            steal_after_ns: [0, TICK_STEAL_AFTER_NS, 20 * MS][random.between(0, 2) as usize],
            all_start_on_one: random.one_in(3),
            costs_vary: random.one_in(2),
        }
    }

    fn utilisation(&self) -> f64 {
        self.ticks.iter().map(Tick::utilisation).sum()
    }

    /// Long enough for ten runs of the slowest tick and a thousand of all.
    fn ends_ns(&self) -> u64 {
        let rate: f64 = self.ticks.iter().map(|tick| 1.0 / tick.period_ns as f64).sum();
        let slowest_ns = self.ticks.iter().map(|tick| tick.period_ns).max().unwrap();
        ((1000.0 / rate) as u64).max(10 * slowest_ns)
    }

    /// How long after it was due a run of each tick ends at the latest, if all workers saw all ticks at once.
    fn bounds_ns(&self) -> Vec<f64> {
        let largest = |many: usize, of: &dyn Fn(&Tick) -> f64| {
            let mut all: Vec<f64> = self.ticks.iter().map(of).collect();
            all.sort_by(|a, b| b.total_cmp(a));
            all.iter().take(many).sum::<f64>()
        };
        let workers = self.workers;
        let costs = largest(workers, &|tick| tick.cost_ns as f64);
        let least = self.ticks.iter().map(|tick| tick.cost_ns as f64).fold(f64::INFINITY, f64::min);
        let spare = workers as f64 - largest(workers - 1, &Tick::utilisation);
        let within = |deadline_ns: f64| {
            let beyond = |tick: &Tick| tick.utilisation() * (tick.period_ns as f64 - deadline_ns).max(0.0);
            let short = |tick: &Tick| tick.utilisation() * (deadline_ns - tick.period_ns as f64).max(0.0);
            let undone = self.ticks.iter().map(beyond).sum::<f64>() + largest(workers - 1, &short);
            deadline_ns + (costs - least + undone) / spare
        };
        let deadlines = self.ticks.iter().map(|tick| tick.period_ns as f64);
        let best = deadlines.map(within).fold(f64::INFINITY, f64::min);
        self.ticks.iter().map(|tick| best + tick.cost_ns as f64).collect()
    }
}

/// A run that has ended.
#[derive(Clone, Copy, Debug)]
struct Run {
    tick: usize,
    due_ns: u64,
    started_ns: u64,
    ended_ns: u64,
    was_stolen: bool,
}

/// What is known of a tick besides the case.
#[derive(Clone, Copy, Default)]
struct State {
    due_ns: u64,
    burst: u32,
    runs: u64,
    skipped: u64,
}

/// The workers: their queues by due time, and what they run.
struct Workers<'a> {
    case: &'a Case,
    queues: Vec<BTreeSet<(u64, usize)>>,
    running: Vec<Option<Run>>,
    states: Vec<State>,
    random: Random,
    now_ns: u64,
}

impl<'a> Workers<'a> {
    fn new(case: &'a Case) -> Self {
        let mut queues = vec![BTreeSet::new(); case.workers];
        let mut loads = vec![Load::default(); case.workers];
        for (number, tick) in case.ticks.iter().enumerate() {
            let worker = if case.all_start_on_one {
                0
            } else {
                place(loads.iter().copied()).expect("there are workers")
            };
            loads[worker].busy_ns += (tick.utilisation() * 1e9) as u64;
            loads[worker].measured += 1;
            queues[worker].insert((tick.first_due_ns, number));
        }
        let states = case.ticks.iter().map(|tick| State { due_ns: tick.first_due_ns, ..State::default() });
        Self {
            states: states.collect(),
            queues,
            running: vec![None; case.workers],
            random: Random(case.number),
            now_ns: 0,
            case,
        }
    }

    /// Runs until the end of the case and shows every run that has ended.
    fn run(mut self, mut seen: impl FnMut(Run, &State)) -> Vec<State> {
        while self.now_ns <= self.case.ends_ns() {
            self.end_runs(&mut seen);
            for worker in 0..self.case.workers {
                if self.running[worker].is_none() {
                    self.running[worker] = self.start(worker);
                }
            }
            let ends = self.running.iter().flatten().map(|run| run.ended_ns);
            let wakes = (0..self.case.workers)
                .filter(|&worker| self.running[worker].is_none())
                .filter_map(|worker| nearest(self.own(worker), self.others(worker)));
            let next_ns = ends.chain(wakes).min().expect("ticks never end");
            assert!(next_ns > self.now_ns, "a worker woke up for nothing: {:?}", self.case);
            self.now_ns = next_ns;
        }
        self.states
    }

    fn end_runs(&mut self, seen: &mut impl FnMut(Run, &State)) {
        for worker in 0..self.case.workers {
            let Some(run) = self.running[worker].take_if(|run| run.ended_ns == self.now_ns) else { continue };
            let Tick { overrun, period_ns, .. } = self.case.ticks[run.tick];
            let state = &mut self.states[run.tick];
            let next = after_run(overrun, run.due_ns, period_ns, run.started_ns, run.ended_ns, state.burst);
            state.due_ns = next.due_ns;
            state.burst = next.burst;
            state.runs += 1;
            state.skipped += next.skipped;
            seen(run, state);
            // It stays with the worker that ran it.
            self.queues[worker].insert((next.due_ns, run.tick));
        }
    }

    fn start(&mut self, worker: usize) -> Option<Run> {
        let choice = next_tick(self.now_ns, self.own(worker), self.others(worker))?;
        let from = match choice {
            TickChoice::Own => worker,
            TickChoice::Steal(victim) => victim,
        };
        let (due_ns, tick) = self.queues[from].pop_first().expect("it was seen");
        let cost_ns = self.case.ticks[tick].cost_ns;
        let takes_ns = if self.case.costs_vary { self.random.between(1, cost_ns) } else { cost_ns };
        let ended_ns = self.now_ns + takes_ns;
        Some(Run { tick, due_ns, started_ns: self.now_ns, ended_ns, was_stolen: from != worker })
    }

    fn own(&self, worker: usize) -> Option<u64> {
        self.queues[worker].first().map(|&(due_ns, _)| due_ns)
    }

    fn others(&self, worker: usize) -> impl Iterator<Item = (usize, TickView)> {
        let others = (worker + 1..self.case.workers).chain(0..worker);
        others.filter_map(|other| {
            let due_ns = self.own(other)?;
            Some((other, TickView { due_ns, stealable_ns: due_ns.saturating_add(self.case.steal_after_ns) }))
        })
    }
}

/// The greatest part of its bound that a run of the case has needed.
fn worst(case: &Case, bounds_ns: &[f64], stolen: &mut u64) -> f64 {
    let mut worst = 0.0_f64;
    Workers::new(case).run(|run, _| {
        *stolen += u64::from(run.was_stolen);
        // A nanosecond for the rounding of the bound.
        worst = worst.max((run.ended_ns - run.due_ns) as f64 / (bounds_ns[run.tick] + 1.0));
    });
    worst
}

fn case_within_means(number: u64) -> Case {
    let mut case =
        Case::new(number, |random| if random.one_in(2) { 0.95 } else { 0.2 + 0.75 * random.fraction() });
    // What a tick would need beyond the whole of a worker is left unused.
    for tick in &mut case.ticks {
        tick.cost_ns = tick.cost_ns.min(tick.period_ns);
    }
    assert!(case.utilisation() <= 0.951 * case.workers as f64, "{case:?}");
    case
}

#[test]
fn completion_is_within_the_bound_for_global_edf_and_the_delay_of_stealing() {
    let (mut stolen, mut closest) = (0, 0.0_f64);
    for number in 0..1000 {
        let case = case_within_means(number);
        let delayed = |bound: f64| bound + case.steal_after_ns as f64;
        let bounds: Vec<f64> = case.bounds_ns().into_iter().map(delayed).collect();
        let worst = worst(&case, &bounds, &mut stolen);
        assert!(worst <= 1.0, "{worst} of the bound: {case:?}");
        closest = closest.max(worst);
    }
    println!("{closest:.2} of a bound was needed at most; {stolen} runs were stolen");
    // The bound is not so loose that everything is within it, and it was stealing that kept it.
    assert!(closest > 0.5, "at most {closest} of the bound was needed");
    assert!(stolen > 10_000, "only {stolen} runs were stolen");
}

#[test]
fn without_stealing_the_bound_is_broken() {
    let broken = (0..100).map(case_within_means).filter_map(|mut case| {
        let bounds = case.bounds_ns();
        case.all_start_on_one = true;
        case.steal_after_ns = NEVER;
        (worst(&case, &bounds, &mut 0) > 1.0).then_some(())
    });
    let broken = broken.count();
    assert!(broken > 10, "only {broken} of 100 cases broke it");
}

/// A tick that waits for its own last run to end, or that a burst has left behind, is late without fault of others. Once every worker sees
/// that it waits, all of them run ticks that are at least as overdue, or that had begun before: each other tick does so twice at most, and
/// with a burst as many times more as it may catch up.
#[test]
fn beyond_their_means_workers_count_what_they_skip_and_nobody_starves() {
    let mut skipped = 0;
    for number in 0..1000 {
        let mut case = Case::new(number, |random| 1.05 + 3.0 * random.fraction());
        let mut random = Random(!number);
        let most_in_a_row = random.between(0, 3) as u32;
        for tick in &mut case.ticks {
            tick.overrun = match random.between(0, 3) {
                0 => Overrun::Burst(most_in_a_row),
                1 => Overrun::Delay,
                _ => Overrun::Skip,
            };
        }
        assert!(case.utilisation() > case.workers as f64, "{case:?}");
        let all_costs: u64 = case.ticks.iter().map(|tick| tick.cost_ns).sum();
        let others_ns = all_costs * (2 + u64::from(most_in_a_row)) / case.workers as u64;
        let states = Workers::new(&case).run(|run, state| {
            let tick = &case.ticks[run.tick];
            let behind = if let Overrun::Burst(most) = tick.overrun { u64::from(most) } else { 0 };
            let own_ns = case.steal_after_ns + tick.cost_ns + behind * tick.period_ns;
            assert!(run.started_ns - run.due_ns <= own_ns + others_ns, "{run:?} starves: {case:?}");
            if tick.overrun == Overrun::Skip {
                let begun = (run.started_ns - tick.first_due_ns) / tick.period_ns + 1;
                assert_eq!(state.runs + state.skipped, begun, "{run:?}: {case:?}");
            }
        });
        for (tick, state) in case.ticks.iter().zip(&states) {
            assert!(state.runs > 0, "{tick:?} never ran: {case:?}");
            skipped += state.skipped;
            match tick.overrun {
                Overrun::Delay => assert_eq!(state.skipped, 0, "{tick:?}: {case:?}"),
                Overrun::Skip | Overrun::Burst(_) => {
                    let scheduled = (state.due_ns - tick.first_due_ns) / tick.period_ns;
                    assert_eq!(scheduled, state.runs + state.skipped, "{tick:?}: {case:?}");
                }
            }
        }
    }
    assert!(skipped > 100_000, "only {skipped} periods were skipped");
}
