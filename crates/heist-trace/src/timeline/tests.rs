use super::*;
use crate::Lost;
use crate::arbitrary::any_trace;
use Activity::*;
use proptest::prelude::*;

fn at(at_ns: u64, thread: u16, kind: Kind, arg: u32) -> Event {
    Event { at_ns, kind, thread, worker: Some(thread), arg }
}

fn timeline(events: impl IntoIterator<Item = Event>) -> Timeline {
    Timeline::new(&Trace::builder().events(events).finish())
}

fn activities(row: &Row) -> Vec<(u64, u64, Activity)> {
    row.intervals().iter().map(|i| (i.start_ns, i.end_ns, i.activity)).collect()
}

fn plain(width: usize) -> Style {
    Style::new(width).glyphs(Glyphs::ASCII)
}

/// Two workers on one join: 0 runs its half, 1 steals the other, both go to sleep.
fn one_join() -> Vec<Event> {
    use Kind::*;
    vec![
        at(0, 1, Park, 0),
        at(0, 0, JobStart, 0),
        at(1_000, 0, Wake, 1),
        at(3_000, 1, Steal, 0),
        at(3_000, 1, JobStart, 0),
        at(9_000, 1, JobEnd, 0),
        at(10_000, 0, JobEnd, 0),
        at(10_000, 1, Park, 0),
        at(12_000, 0, Park, 0),
        at(20_000, 2, Lend, 0),
    ]
}

#[test]
fn one_join_drawn() {
    let timeline = timeline(one_join());
    assert_eq!(
        timeline.render(&plain(57)),
        "\
w0 ####################~~~~................  50% 0 steals
w1 ..~~~~%%%%%%%%%%%%~~....................  30% 1 steal
   0                               20.00 us
# own work   % stolen work   ~ searching   . parked
x blocked
"
    );
    assert_eq!(timeline.steals(), 1);
    assert!((timeline.utilisation() - 0.4).abs() < 1e-9);
    assert_eq!(timeline.duration_ns(), 20_000);
}

#[test]
fn block_characters_are_counted_as_columns() {
    let text = timeline(one_join()).render(&Style::new(57));
    let first = text.lines().next().unwrap();
    let (own, parked) = ("\u{2588}".repeat(20), "\u{b7}".repeat(16));
    assert_eq!(first, format!("w0 {own}~~~~{parked}  50% 0 steals"));
}

#[test]
fn narrow_terminals_lose_the_figures_first() {
    let timeline = timeline(one_join());
    let text = timeline.render(&plain(23));
    let expected = "\
w0 ##########~~........
w1 .~~%%%%%%~..........
   0           20.00 us
# own work
% stolen work
~ searching   . parked
x blocked
";
    assert_eq!(text, expected);
    assert_eq!(timeline.render(&plain(0)).lines().next(), Some("w0 #"));
}

#[test]
fn an_inner_job_hides_the_outer_one_and_then_gives_way() {
    use Kind::*;
    let timeline = timeline([
        at(0, 0, JobStart, 0),
        at(2, 0, Steal, 1),
        at(3, 0, JobStart, 0),
        at(4, 0, JobStart, 0),
        at(5, 0, JobEnd, 0),
        at(6, 0, JobEnd, 0),
        at(9, 0, JobEnd, 0),
        at(10, 0, Park, 0),
    ]);
    let row = &timeline.rows()[0];
    let expected =
        [(0, 3, Own), (3, 4, Stolen), (4, 5, Own), (5, 6, Stolen), (6, 9, Own), (9, 10, Searching)];
    assert_eq!(activities(row), expected);
    assert_eq!(row.busy().map(Interval::length_ns).sum::<u64>(), 9);
}

#[test]
fn a_lent_index_shows_the_borrower_until_it_returns() {
    use Kind::*;
    let borrower = |at_ns, kind| Event { worker: Some(0), ..at(at_ns, 9, kind, 0) };
    let timeline = timeline([
        at(0, 0, JobStart, 0),
        at(10, 0, Lend, 0),
        Event { worker: None, ..at(11, 0, Block, 0) },
        borrower(15, JobStart),
        borrower(40, JobEnd),
        Event { worker: None, ..at(45, 9, Park, 0) },
        Event { worker: None, ..at(50, 0, Unblock, 0) },
        at(52, 0, Return, 0),
        at(60, 0, JobEnd, 0),
        at(70, 0, Park, 0),
    ]);
    assert_eq!(timeline.rows().len(), 1);
    assert_eq!(
        activities(&timeline.rows()[0]),
        [
            (0, 10, Own),
            (10, 15, Absent),
            (15, 40, Own),
            (40, 45, Searching),
            (45, 52, Absent),
            (52, 60, Own),
            (60, 70, Searching)
        ]
    );
}

#[test]
fn a_block_with_the_index_in_hand_is_shown() {
    use Kind::*;
    let timeline =
        timeline([at(0, 0, JobStart, 0), at(4, 0, Block, 0), at(8, 0, Unblock, 0), at(9, 0, JobEnd, 0)]);
    assert_eq!(activities(&timeline.rows()[0]), [(0, 4, Own), (4, 8, Blocked), (8, 9, Own)]);
}

#[test]
fn a_gap_is_neither_work_nor_sleep() {
    use Kind::*;
    let trace = Trace::builder()
        .batch(0, [at(0, 0, Park, 0), at(10, 0, JobStart, 0)], Lost(0))
        .batch(0, [at(30, 0, Steal, 1), at(40, 0, JobEnd, 0)], Lost(6))
        .finish();
    let timeline = Timeline::new(&trace);
    assert_eq!(activities(&timeline.rows()[0]), [(0, 10, Parked), (10, 30, Absent), (30, 40, Own)]);
    assert!(timeline.render(&plain(80)).ends_with("\n6 events lost\n"));
}

#[test]
fn a_worker_that_appears_late_is_absent_before() {
    let timeline = timeline([at(0, 0, Kind::Park, 0), at(5, 1, Kind::JobStart, 0), at(9, 0, Kind::Wake, 0)]);
    assert_eq!(activities(&timeline.rows()[1]), [(0, 5, Absent), (5, 9, Own)]);
}

#[test]
fn a_thousand_workers_and_none() {
    let many = timeline((0..1_000).flat_map(|w| [at(0, w, Kind::JobStart, 0), at(10, w, Kind::JobEnd, 0)]));
    assert_eq!(many.rows().len(), 1_000);
    assert_eq!(many.utilisation(), 1.0);
    let text = many.render(&plain(60));
    assert_eq!(text.lines().count(), 1_000 + 2 + 1);
    assert!(text.starts_with("w0   ####"));
    let few = many.render(&plain(60).max_rows(2));
    assert_eq!(few.lines().nth(2), Some("and 998 more workers"));

    let none = timeline([]);
    assert_eq!((none.rows().len(), none.utilisation(), none.duration_ns()), (0, 0.0, 0));
    assert!(none.render(&plain(80)).starts_with("# own work"));
}

#[test]
fn no_time_at_all_draws_nothing() {
    let text = timeline([at(7, 0, Kind::JobStart, 0)]).render(&plain(40));
    assert_eq!(text.lines().next(), Some("w0                           0% 0 steals"));
}

proptest! {
    #[test]
    fn rows_cover_the_trace_exactly_and_fit_the_terminal(trace in any_trace(), width in 0_usize..150) {
        let timeline = Timeline::new(&trace);
        let (start, end) = trace.range_ns();
        for row in timeline.rows() {
            let mut at = start;
            let mut last = None;
            for interval in row.intervals() {
                prop_assert_eq!(interval.start_ns, at);
                prop_assert!(interval.end_ns > at && last != Some(interval.activity));
                (at, last) = (interval.end_ns, Some(interval.activity));
            }
            prop_assert_eq!(at, end);
            let sum: u64 = Activity::ALL.into_iter().map(|activity| row.time_ns(activity)).sum();
            prop_assert_eq!(sum, end - start);
            prop_assert!((0.0..=1.0).contains(&row.utilisation()));
        }
        let steals = trace.events().iter().filter(|e| e.kind == Kind::Steal && e.worker.is_some()).count();
        prop_assert_eq!(timeline.steals(), steals as u64);
        let text = timeline.render(&plain(width));
        for line in text.lines() {
            // The narrowest: a label and a column; an entry of the legend; the count of the lost.
            prop_assert!(line.chars().count() <= width.max(33), "{:?}", line);
        }
    }
}

#[test]
fn a_thread_that_slept_inside_of_a_job_was_blocked() {
    let at = |at_ns, kind, arg| Event { at_ns, kind, thread: 0, worker: Some(0), arg };
    let trace = Trace::builder()
        .events([
            at(0, Kind::PollStart, 1),
            at(10_000, Kind::Asleep, 6),
            at(10_000, Kind::PollEnd, 1),
            at(11_000, Kind::JobStart, 1),
            at(12_000, Kind::Asleep, 50),
            at(12_000, Kind::JobEnd, 1),
        ])
        .finish();
    let timeline = Timeline::new(&trace);
    let times =
        [Activity::Own, Activity::Blocked, Activity::Searching].map(|a| timeline.rows()[0].time_ns(a));
    assert_eq!(times, [4_000, 7_000, 1_000]);
}
