use super::*;
use crate::Kind;
use heist_sync::atomic::AtomicBool;

/// An event whose two words can be told to belong together.
fn event(n: u64) -> Event {
    Event { at_ns: n, kind: Kind::Steal, thread: n as u16, worker: Some(n as u16 & 0xff), arg: n as u32 }
}

#[test]
fn capacities_are_rounded_up_to_powers_of_two() {
    for (asked, got) in [(0, 1), (1, 1), (2, 2), (3, 4), (4, 4), (5, 8), (1000, 1024)] {
        assert_eq!(Ring::new(asked).capacity(), got);
    }
}

#[test]
fn a_quiet_ring_is_read_exactly() {
    for capacity in [1, 2, 4, 8] {
        let ring = Ring::new(capacity as usize);
        for recorded in 0..=3 * capacity {
            let mut events = vec![event(99)];
            let kept = recorded.min(capacity);
            assert_eq!(ring.snapshot(&mut events), Lost(recorded - kept));
            let expected: Vec<Event> = [99].into_iter().chain(recorded - kept..recorded).map(event).collect();
            assert_eq!(events, expected, "capacity {capacity}, {recorded} recorded");
            ring.record(event(recorded));
        }
    }
}

#[test]
fn reading_on_counts_only_what_was_missed_in_between() {
    let ring = Ring::new(4);
    let mut at = Position::START;
    let mut recorded = 0;
    for burst in [0, 1, 3, 4, 5, 11, 0, 2] {
        let from = recorded;
        for _ in 0..burst {
            ring.record(event(recorded));
            recorded += 1;
        }
        let mut events = Vec::new();
        let (next, lost) = ring.since(at, &mut events);
        assert_eq!(lost, Lost(burst - burst.min(4)));
        assert_eq!(events, (from + lost.0..recorded).map(event).collect::<Vec<_>>());
        at = next;
    }
}

#[test]
fn a_position_of_another_ring_is_no_harm() {
    let (long, short) = (Ring::new(4), Ring::new(4));
    (0..9).for_each(|n| long.record(event(n)));
    let (far, _) = long.since(Position::START, &mut Vec::new());
    assert_eq!(short.since(far, &mut Vec::new()), (Position::START, Lost(0)));
}

#[test]
fn readers_beside_a_running_producer_see_only_whole_events_in_order() {
    let rounds: u64 = if cfg!(miri) { 500 } else { 300_000 };
    for capacity in [1, 8, 256] {
        let ring = Ring::new(capacity);
        let finished = AtomicBool::new(false);
        std::thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    let (mut at, mut number) = (Position::START, 0);
                    loop {
                        let last_time = finished.load(Ordering::Acquire);
                        let mut events = Vec::new();
                        let (next, lost) = ring.since(at, &mut events);
                        number += lost.0;
                        for e in events {
                            assert_eq!(e, event(number));
                            number += 1;
                        }
                        at = next;
                        assert_eq!(at, Position(number));
                        if last_time {
                            break;
                        }
                        // A newcomer's first read must be as sound as a follower's.
                        let mut events = Vec::new();
                        let Lost(lost) = ring.snapshot(&mut events);
                        for (e, n) in events.into_iter().zip(lost..) {
                            assert_eq!(e, event(n));
                        }
                    }
                    assert_eq!(number, rounds);
                });
            }
            for n in 0..rounds {
                ring.record(event(n));
            }
            finished.store(true, Ordering::Release);
        });
    }
}
