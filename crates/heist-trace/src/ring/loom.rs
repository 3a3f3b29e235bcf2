//! Interleavings of a producer and a reader, on the smallest rings.
//!
//! Run with `RUSTFLAGS="--cfg heist_model --cfg heist_loom" cargo test -p heist-trace --release --lib loom`.

use super::{Lost, Position, Ring};
use crate::{Event, Kind};
use heist_sync::{Arc, thread};
use loom::model::Builder;

/// Event number `n`, recognisable by either of its words.
fn event(n: u64) -> Event {
    Event { at_ns: n + 1, kind: Kind::Steal, thread: 0, worker: Some(0), arg: n as u32 + 1 }
}

/// What a read from `from` returned must be whole events in order without a hole, and with the lost ones add up.
fn check(from: u64, next: Position, lost: Lost, events: &[Event]) {
    let first = from + lost.0;
    let expected: Vec<Event> = (first..next.0).map(event).collect();
    assert_eq!(events, expected, "torn, foreign or missing events after {lost:?}");
}

fn producer_against_reader(capacity: usize, before: u64, during: u64) {
    let mut builder = Builder::new();
    builder.preemption_bound = builder.preemption_bound.max(Some(5));
    builder.check(move || {
        let ring = Arc::new(Ring::new(capacity));
        (0..before).for_each(|n| ring.record(event(n)));
        let reader = thread::spawn({
            let ring = ring.clone();
            move || {
                let mut events = Vec::new();
                let (next, lost) = ring.since(Position::START, &mut events);
                assert!((before..=before + during).contains(&next.0));
                check(0, next, lost, &events);

                events.clear();
                let (end, lost) = ring.since(next, &mut events);
                assert!(end >= next);
                check(next.0, end, lost, &events);
            }
        });
        (before..before + during).for_each(|n| ring.record(event(n)));
        reader.join().unwrap();

        let mut events = Vec::new();
        let total = before + during;
        assert_eq!(ring.snapshot(&mut events), Lost(total.saturating_sub(capacity as u64)));
        check(0, Position(total), Lost(total - events.len() as u64), &events);
    });
}

#[test]
fn one_slot_is_overwritten_while_it_is_read() {
    producer_against_reader(1, 1, 2);
}

#[test]
fn an_empty_ring_is_filled_while_it_is_read() {
    producer_against_reader(2, 0, 2);
}

#[test]
fn a_full_ring_is_overwritten_while_it_is_read() {
    producer_against_reader(2, 2, 2);
}
