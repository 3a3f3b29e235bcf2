//! Tables of the decisions, and what holds for all histories.

use super::*;
use proptest::prelude::*;
use std::vec::Vec;

fn view(due_ns: u64, stealable_ns: u64) -> TickView {
    TickView { due_ns, stealable_ns }
}

#[test]
fn the_most_overdue_runs_next() {
    use TickChoice::{Own, Steal};
    type Row<'a> = (&'a str, u64, Option<u64>, &'a [(usize, TickView)], Option<TickChoice>);
    let rows: [Row<'_>; 12] = [
        ("nothing at all", 100, None, &[], None),
        ("own, not due", 100, Some(101), &[], None),
        ("own, due just now", 100, Some(100), &[], Some(Own)),
        ("another's, late but not enough", 100, None, &[(3, view(90, 101))], None),
        ("another's, late enough just now", 100, None, &[(3, view(90, 100))], Some(Steal(3))),
        ("own is older", 100, Some(80), &[(3, view(90, 95))], Some(Own)),
        ("another's is older", 100, Some(95), &[(3, view(90, 95))], Some(Steal(3))),
        ("another's is older, but not stealable", 100, Some(95), &[(3, view(90, 101))], Some(Own)),
        ("equally old: own", 100, Some(90), &[(3, view(90, 95))], Some(Own)),
        (
            "equally old: the first",
            100,
            None,
            &[(7, view(90, 95)), (3, view(90, 91)), (1, view(92, 93))],
            Some(Steal(7)),
        ),
        ("its closures make it stealable before it is due", 100, None, &[(3, view(150, 99))], Some(Steal(3))),
        ("never is never", u64::MAX, Some(NEVER), &[(3, view(1, NEVER))], None),
    ];
    for (name, now_ns, own, others, expected) in rows {
        assert_eq!(next_tick(now_ns, own, others.iter().copied()), expected, "{name}");
    }
}

#[test]
fn a_worker_sleeps_until_the_nearest_time() {
    type Row<'a> = (Option<u64>, &'a [TickView], Option<u64>);
    let rows: [Row<'_>; 6] = [
        (None, &[], None),
        (Some(70), &[], Some(70)),
        (Some(NEVER), &[view(1, NEVER)], None),
        (None, &[view(10, 90), view(20, 60)], Some(60)),
        (Some(50), &[view(10, 90), view(20, 60)], Some(50)),
        (Some(0), &[view(0, 0)], Some(0)),
    ];
    for (own, others, expected) in rows {
        assert_eq!(nearest(own, others.iter().copied().enumerate()), expected, "{own:?} {others:?}");
    }
}

#[test]
fn the_next_run_by_kind_of_overrun() {
    use Overrun::{Burst, Delay, Skip};
    // Scheduled for 1000, every 100.
    let rows = [
        // overrun, started, ended, burst so far; due, skipped, burst, overran
        ("in time", Skip, 1000, 1010, 0, (1100, 0, 0, false)),
        ("early, after a change of the clock", Skip, 990, 995, 0, (1100, 0, 0, false)),
        ("late by less than a period", Skip, 1099, 1099, 0, (1100, 0, 0, false)),
        ("late by a period", Skip, 1100, 1101, 0, (1200, 1, 1, false)),
        ("ended when the next is due", Skip, 1000, 1100, 0, (1100, 0, 0, false)),
        ("ended after the next was due", Skip, 1000, 1101, 0, (1100, 0, 0, true)),
        ("ran for many periods: its successor starts late", Skip, 1000, 1950, 0, (1100, 0, 0, true)),
        ("late by many periods", Skip, 1950, 1960, 0, (2000, 9, 1, false)),
        ("burst: in time ends it", Burst(3), 1000, 1010, 2, (1100, 0, 0, false)),
        ("burst: first", Burst(3), 1950, 1951, 0, (1700, 6, 1, true)),
        ("burst: second", Burst(3), 1250, 1251, 1, (1100, 0, 2, true)),
        ("burst: as many as allowed", Burst(3), 1150, 1151, 3, (1200, 1, 4, false)),
        ("burst: no limit in sight", Burst(u32::MAX), 1950, 1951, 0, (1100, 0, 1, true)),
        ("burst: none allowed is a skip", Burst(0), 1950, 1960, 0, (2000, 9, 1, false)),
        ("delay: in time", Delay, 1000, 1010, 0, (1100, 0, 0, false)),
        ("delay: from the start of the run", Delay, 1950, 1990, 0, (2050, 0, 1, false)),
        ("delay: even if that is over", Delay, 1950, 2090, 0, (2050, 0, 1, true)),
    ];
    for (name, overrun, started, ended, so_far, (due_ns, skipped, burst, overran)) in rows {
        let next = after_run(overrun, 1000, 100, started, ended, so_far);
        assert_eq!(next, Next { due_ns, skipped, burst, overran }, "{name}");
    }
}

#[test]
fn a_burst_catches_up_with_as_many_as_it_may() {
    // Held up for ten periods, then each run takes no time.
    let (mut due_ns, mut burst, mut counts) = (1000, 0, Vec::new());
    while due_ns <= 2020 {
        counts.push(count(Overrun::Burst(3), due_ns, 100, 2020, burst));
        let next = after_run(Overrun::Burst(3), due_ns, 100, 2020, 2020, burst);
        (due_ns, burst) = (next.due_ns, next.burst);
    }
    assert_eq!((counts, due_ns, burst), (std::vec![8, 1, 1, 1], 2100, 0));
}

#[test]
fn the_clock_may_end() {
    const END: u64 = u64::MAX;
    for overrun in [Overrun::Skip, Overrun::Burst(0), Overrun::Burst(u32::MAX), Overrun::Delay] {
        for period_ns in [1, 2, 1000, END - 1, END] {
            for (scheduled, started) in [(0, 0), (0, END), (END, 0), (END, END), (END - 1, END)] {
                let next = after_run(overrun, scheduled, period_ns, started, END, u32::MAX);
                assert!(
                    next.due_ns >= scheduled.min(started),
                    "{overrun:?} {period_ns} {scheduled} {started}"
                );
                assert!(next.skipped <= END - scheduled, "{overrun:?} {period_ns} {scheduled} {started}");
            }
        }
    }
    assert_eq!(after_run(Overrun::Skip, END - 5, 10, END - 5, END, 0).due_ns, END);
    assert_eq!(count(Overrun::Skip, 0, 1, END, 0), END);
}

#[test]
fn ticks_leave_a_share_to_others() {
    const MS: u64 = 1_000_000;
    for (tick_ns, window_ns, expected) in [
        (0, 0, false),
        (95 * MS - 1, 95 * MS - 1, false),
        (95 * MS, 95 * MS, true),
        (95 * MS, 100 * MS, true),
        (95 * MS, 101 * MS, false),
        (500 * MS, 500 * MS, true),
        (500 * MS, 526 * MS, true),
        (500 * MS, 527 * MS, false),
        (u64::MAX, u64::MAX, true),
        (0, u64::MAX, false),
    ] {
        assert_eq!(ticks_must_yield(tick_ns, window_ns), expected, "{tick_ns} of {window_ns}");
    }
}

#[test]
fn closures_stop_in_time() {
    const ROW: u64 = CLOSURES_IN_A_ROW_NS;
    const BEFORE: u64 = CLOSURES_BEFORE_DUE_NS;
    for (spent_ns, until_due_ns, expected) in [
        (0, NEVER, true),
        (0, 0, false),
        (0, BEFORE, false),
        (0, BEFORE + 1, true),
        (ROW - 1, NEVER, true),
        (ROW, NEVER, false),
        (u64::MAX, 0, false),
    ] {
        assert_eq!(closures_may_go_on(spent_ns, until_due_ns), expected, "{spent_ns} {until_due_ns}");
    }
}

#[test]
fn new_ticks_go_to_the_least_loaded() {
    let load = |busy_ns, measured, unmeasured| Load { busy_ns, measured, unmeasured };
    type Row<'a> = (&'a str, &'a [Load], Option<usize>);
    let rows: [Row<'_>; 8] = [
        ("nobody", &[], None),
        ("one worker", &[load(u64::MAX, 1, u32::MAX)], Some(0)),
        ("the first of equals", &[load(5, 1, 0), load(5, 1, 0)], Some(0)),
        ("the least busy", &[load(5, 1, 0), load(4, 9, 0), load(6, 0, 0)], Some(1)),
        ("nothing measured: by number", &[load(0, 0, 3), load(0, 0, 2), load(0, 0, 4)], Some(1)),
        (
            "unmeasured ones count as the mean of 10",
            &[load(20, 2, 2), load(20, 2, 1), load(35, 3, 0)],
            Some(1),
        ),
        ("a mean of nothing: by number", &[load(0, 2, 1), load(0, 1, 1)], Some(1)),
        ("edges", &[load(u64::MAX, u32::MAX, u32::MAX), load(u64::MAX, u32::MAX, 0)], Some(1)),
    ];
    for (name, loads, expected) in rows {
        assert_eq!(place(loads.iter().copied()), expected, "{name}");
    }
}

fn any_overrun() -> impl Strategy<Value = Overrun> {
    prop_oneof![Just(Overrun::Skip), (0..6_u32).prop_map(Overrun::Burst), Just(Overrun::Delay)]
}

proptest! {
    /// Every period from the first on is run or skipped, exactly once, and the phase is kept.
    #[test]
    fn what_was_scheduled_was_run_or_skipped(
        overrun in any_overrun(),
        period_ns in 1..1000_u64,
        history in prop::collection::vec((0..5000_u64, 0..5000_u64), 1..100),
    ) {
        let first_ns = 1_000_000;
        let (mut due_ns, mut now_ns, mut burst) = (first_ns, first_ns, 0);
        let (mut runs, mut skipped, mut scheduled) = (0, 0, 0);
        for (waits_ns, runs_for_ns) in history {
            let started_ns = now_ns.max(due_ns) + waits_ns;
            now_ns = started_ns + runs_for_ns;
            let next = after_run(overrun, due_ns, period_ns, started_ns, now_ns, burst);
            prop_assert_eq!(count(overrun, due_ns, period_ns, started_ns, burst), next.skipped + 1);
            runs += 1;
            skipped += next.skipped;
            match overrun {
                Overrun::Delay => {
                    scheduled += 1;
                    prop_assert_eq!(next.due_ns, started_ns + period_ns);
                }
                Overrun::Skip => {
                    prop_assert!(next.due_ns > started_ns, "a period that had begun was not counted");
                    prop_assert!(next.due_ns <= started_ns + period_ns, "a period was skipped before its time");
                }
                Overrun::Burst(most) => {
                    prop_assert!(next.due_ns <= started_ns + period_ns);
                    let left = (started_ns + period_ns - next.due_ns) / period_ns;
                    prop_assert!(left <= u64::from(most.saturating_sub(burst)), "{left} periods left to catch up");
                }
            }
            if overrun != Overrun::Delay {
                prop_assert_eq!((next.due_ns - first_ns) % period_ns, 0);
                scheduled = (next.due_ns - first_ns) / period_ns;
            }
            prop_assert_eq!(scheduled, runs + skipped);
            (due_ns, burst) = (next.due_ns, next.burst);
        }
    }

    /// Nobody sleeps past something that it could run, and nobody is woken for nothing.
    #[test]
    fn there_is_something_to_run_at_the_nearest_time_and_nothing_before(
        own in prop::option::of(1..100_u64),
        others in prop::collection::vec((1..100_u64, 1..100_u64), 0..8),
    ) {
        let views: Vec<_> = others.iter().map(|&(due_ns, stealable_ns)| view(due_ns, stealable_ns)).collect();
        let at = |now_ns| next_tick(now_ns, own, views.iter().copied().enumerate());
        match nearest(own, views.iter().copied().enumerate()) {
            None => prop_assert_eq!(at(u64::MAX), None),
            Some(nearest_ns) => {
                prop_assert_eq!(at(nearest_ns - 1), None);
                prop_assert!(at(nearest_ns).is_some());
            }
        }
    }

    /// The result is as overdue as anything that may be run.
    #[test]
    fn nothing_that_may_run_is_more_overdue(
        now_ns in 0..100_u64,
        own in prop::option::of(0..100_u64),
        others in prop::collection::vec((0..100_u64, 0..100_u64), 0..8),
    ) {
        let views: Vec<_> = others.iter().map(|&(due_ns, stealable_ns)| view(due_ns, stealable_ns)).collect();
        let stealable = views.iter().filter(|view| view.stealable_ns <= now_ns).map(|view| view.due_ns);
        let oldest = stealable.chain(own.filter(|&due_ns| due_ns <= now_ns)).min();
        let chosen = next_tick(now_ns, own, views.iter().copied().enumerate()).map(|choice| match choice {
            TickChoice::Own => own.unwrap(),
            TickChoice::Steal(worker) => views[worker].due_ns,
        });
        prop_assert_eq!(chosen, oldest);
    }
}
