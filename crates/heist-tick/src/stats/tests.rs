//! What the recorder says of histories whose figures are known.

use super::{Recorder, Window, WindowStats};
use std::time::Duration;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;
/// A clock does not begin at zero.
const START: u64 = 12_345 * SECOND + 678;

/// A tick every 50 ms from the start on, each run taking 10 ms and starting 1 ms late, for so many seconds.
fn steady(seconds: u64, percentiles: bool) -> Recorder {
    let mut recorder = Recorder::new(percentiles, START);
    for n in 0..seconds * 20 {
        recorder.record_run(START + n * 50 * MS + 11 * MS, MS, 10 * MS);
    }
    recorder
}

fn close(value: f64, to: f64) -> bool {
    (value - to).abs() <= to / 100.0
}

#[test]
fn a_tick_without_runs_has_zeros_and_no_nonsense() {
    for now_ns in [0, START, START + SECOND, u64::MAX] {
        let stats = Recorder::new(false, START).snapshot(now_ns);
        for window in Window::ALL {
            let covered = stats.window(window).covered;
            assert_eq!(stats.window(window), &WindowStats { covered, ..WindowStats::default() }, "{now_ns}");
        }
    }
}

#[test]
fn a_tick_that_is_two_seconds_old_has_the_right_tps_everywhere() {
    let stats = steady(2, false).snapshot(START + 2 * SECOND);
    assert_eq!(stats.totals.runs, 40);
    for window in Window::ALL {
        let seen = stats.window(window);
        assert_eq!((seen.covered, seen.runs), (Duration::from_secs(2), 40), "{window}");
        assert!(close(seen.tps, 20.0) && close(seen.utilisation, 0.2), "{window}: {seen}");
    }
}

#[test]
fn steady_ticks_have_the_right_figures_at_any_age() {
    for seconds in [1, 4, 5, 6, 14, 17, 59, 70, 100, 299, 310, 899, 900, 1000, 2000] {
        let stats = steady(seconds, false).snapshot(START + seconds * SECOND);
        assert_eq!(stats.totals.runs, seconds * 20);
        for window in Window::ALL {
            let seen = stats.window(window);
            assert!(close(seen.tps, 20.0) && close(seen.utilisation, 0.2), "{window} at {seconds}: {seen}");
            assert_eq!(seen.mspt.mean, Duration::from_millis(10));
            assert_eq!(seen.lateness.max, Duration::from_millis(1));
            let covered = seen.covered.as_secs_f64();
            let length = window.length().as_secs_f64().min(seconds as f64);
            assert!((length..=length * 1.5).contains(&covered), "{window} covers {covered} s at {seconds}");
        }
    }
}

#[test]
fn a_change_is_seen_first_in_the_short_windows() {
    let mut recorder = steady(1000, false);
    for n in 0..200 {
        recorder.record_run(START + 1000 * SECOND + n * 100 * MS, 3 * MS, 40 * MS);
    }
    let stats = recorder.snapshot(START + 1020 * SECOND);
    for window in [Window::Secs5, Window::Secs15] {
        let seen = stats.window(window);
        assert!(close(seen.tps, 10.0) && seen.mspt.mean == Duration::from_millis(40), "{window}: {seen}");
    }
    let long = stats.window(Window::Min15);
    assert!(long.tps > 19.0 && long.mspt.mean < Duration::from_millis(11), "{long}");
    assert_eq!(long.mspt.max, Duration::from_millis(40));
}

#[test]
fn after_a_pause_longer_than_all_windows_only_the_totals_are_left() {
    let mut recorder = steady(1000, true);
    recorder.record_skipped(START + 1000 * SECOND, 3);
    let later_ns = START + 5000 * SECOND;
    // Before anything is recorded again, and after.
    for again in [0, 1] {
        if again == 1 {
            recorder.record_run(later_ns, 0, 7 * MS);
        }
        let stats = recorder.snapshot(later_ns);
        assert_eq!((stats.totals.runs, stats.totals.skipped), (20_000 + again, 3));
        for window in Window::ALL {
            let seen = stats.window(window);
            assert_eq!((seen.runs, seen.skipped), (again, 0), "{window}");
            let most = if again == 1 { Duration::from_millis(7) } else { Duration::ZERO };
            assert_eq!((seen.mspt.max, seen.mspt.p99), (most, Some(most)), "{window}");
        }
    }
}

#[test]
fn time_that_stands_still_or_goes_back_loses_nothing() {
    let mut recorder = Recorder::new(true, START);
    for at_ns in [START, START, START + 40 * SECOND, START + 2, START - 5, 0] {
        recorder.record_run(at_ns, 1, 2);
    }
    let stats = recorder.snapshot(START);
    assert_eq!(stats.totals.runs, 6);
    assert_eq!(stats.window(Window::Min1).runs, 6);
    assert_eq!(stats.window(Window::Secs5).runs, 4);
    let frozen = Recorder::new(false, START).snapshot(START);
    assert_eq!(frozen.window(Window::Secs5).tps, 0.0);
}

#[test]
fn one_run_is_every_percentile() {
    let mut recorder = Recorder::new(true, START);
    recorder.record_run(START + SECOND, 3 * MS, 12_345_678);
    let stats = recorder.snapshot(START + SECOND);
    let (one, late) = (Duration::from_nanos(12_345_678), Duration::from_millis(3));
    for window in Window::ALL {
        let seen = stats.window(window);
        for (of, expected) in [(seen.mspt, one), (seen.lateness, late)] {
            assert_eq!((of.mean, of.max), (expected, expected));
            assert_eq!([of.median, of.p95, of.p99], [Some(expected); 3]);
        }
    }
}

#[test]
fn percentiles_are_there_if_asked_for() {
    let mut recorder = steady(100, true);
    for _ in 0..20 {
        recorder.record_run(START + 100 * SECOND, 30 * MS, 100 * MS);
    }
    let now_ns = START + 100 * SECOND;
    let stats = recorder.snapshot(now_ns);
    let minute = stats.window(Window::Min1);
    let within = |value: Option<Duration>, true_ms: u64| {
        let value = value.unwrap();
        value >= Duration::from_millis(true_ms) && value <= Duration::from_millis(true_ms) * 9 / 8
    };
    assert!(within(minute.mspt.median, 10) && within(minute.mspt.p95, 10), "{minute}");
    assert!(within(minute.mspt.p99, 100) && within(minute.lateness.p99, 30), "{minute}");
    let without = steady(1, false).snapshot(START + SECOND);
    let mspt = without.window(Window::Min1).mspt;
    assert_eq!([mspt.median, mspt.p95, mspt.p99], [None; 3]);
}

#[test]
fn everything_else_is_counted_where_it_belongs() {
    let mut recorder = Recorder::new(false, START);
    recorder.record_skipped(START + SECOND, 4);
    recorder.record_overrun(START + 2 * SECOND);
    recorder.record_steal(START + 100 * SECOND);
    recorder.record_closure(START + 100 * SECOND, 250 * MS);
    recorder.record_cancelled();
    let stats = recorder.snapshot(START + 100 * SECOND);
    let seen = |window| {
        let seen: &WindowStats = stats.window(window);
        (seen.skipped, seen.overruns, seen.steals, seen.closure_time.as_millis())
    };
    assert_eq!(seen(Window::Secs5), (0, 0, 1, 250));
    assert_eq!(seen(Window::Min5), (4, 1, 1, 250));
    assert!(close(stats.window(Window::Min5).utilisation, 0.0025));
    let totals = stats.totals;
    assert_eq!((totals.runs, totals.skipped, totals.cancelled), (0, 4, 1));
    assert_eq!((totals.overruns, totals.steals), (1, 1));
}

#[test]
fn the_largest_numbers_saturate() {
    let mut recorder = Recorder::new(true, 0);
    for _ in 0..2 {
        recorder.record_run(u64::MAX, u64::MAX, u64::MAX);
        recorder.record_skipped(u64::MAX, u64::MAX);
        recorder.record_closure(u64::MAX, u64::MAX);
    }
    let stats = recorder.snapshot(u64::MAX);
    assert_eq!((stats.totals.runs, stats.totals.skipped), (2, u64::MAX));
    let seen = stats.window(Window::Min15);
    assert_eq!((seen.runs, seen.mspt.max), (2, Duration::from_nanos(u64::MAX)));
    assert_eq!(seen.mspt.p99, Some(Duration::from_nanos(u64::MAX)));
    assert!(seen.utilisation.is_finite() && seen.tps.is_finite());
}

#[test]
fn a_line_says_it_all() {
    let mut recorder = steady(30, false);
    recorder.record_skipped(START + 29 * SECOND, 2);
    let stats = recorder.snapshot(START + 30 * SECOND);
    assert_eq!(
        stats.to_string(),
        "TPS 20.0 (5s) 20.0 (15s) 20.0 (1m) 20.0 (5m) 20.0 (15m), MSPT 10.00 max 10.00, late 1.00 max 1.00, busy 20.0%; \
         runs 600, overruns 0, skipped 2, cancelled 0, steals 0, closures 0, panics 0"
    );
    let line = steady(30, true).snapshot(START + 30 * SECOND).window(Window::Secs5).to_string();
    assert!(
        line.starts_with("TPS 20.0, MSPT 10.00 p50 10.00 p95 10.00 p99 10.00 max 10.00, late 1.00"),
        "{line}"
    );
}
