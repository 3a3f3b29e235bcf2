//! Sequential sources: an iterator over light and over longer items, and a channel.

use std::hint::black_box;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use super::light::visit;
use super::{HEIST, PLAIN, Place, RAYON, pools::Pools, race, row};
use crate::churn::steps_for;
use crate::race::Plan;
use crate::report::{Bar, Judged, Row, Sense, Table};
use crate::tasks::figures::quantile;
use crate::visit::Visit;

/// Light items, from [`LIGHT_FROM`] of them on.
const LIGHT_PLAIN_MAX: f64 = 3.0;
const LIGHT_RAYON_MAX: f64 = 0.5;
const LIGHT_FROM: usize = 1_000;
/// 100,000 items of 50 ns.
const ITEMS_PLAIN_MAX: f64 = 0.6;

/// A source that has to be asked for one item after the other, each of which takes a nanosecond or two to make.
pub struct Chain {
    left: usize,
    last: u64,
}

impl Chain {
    pub fn new(items: usize) -> Chain {
        Chain { left: items, last: 1 }
    }
}

impl Iterator for Chain {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        self.left = self.left.checked_sub(1)?;
        self.last ^= self.last >> 29;
        self.last = self.last.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        Some(self.last)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

const MESSAGES: usize = 50;
const GAP: Duration = Duration::from_millis(1);
/// From when a message is sent until its item begins, in microseconds.
const P50_MAX: f64 = 50.0;
const P99_MAX: f64 = 2_000.0;

pub fn tables(plan: &mut Plan, pools: &Pools) -> Vec<Table> {
    let mut tables = Vec::new();
    for place in Place::ALL {
        let mut rows = Vec::new();
        for items in [100, 1_000, 10_000, 100_000] {
            let name = format!("par_bridge, light items, {items}");
            if plan.wants_row(&name) {
                let series = race!(plan, plan.rounds(31, 7), pools, place, |on, shape| visit(
                    shape,
                    || on::bridge(black_box(items)),
                    |mixed| *mixed
                ));
                let limit = |limit| (items >= LIGHT_FROM).then_some(limit);
                let limits = [(PLAIN, limit(LIGHT_PLAIN_MAX)), (RAYON, limit(LIGHT_RAYON_MAX))];
                rows.push(row(name, &series, ("us", 1e3), &limits));
            }
        }
        let name = "par_bridge, 50 ns items, 100000";
        if plan.wants_row(name) {
            let steps = steps_for(50.0);
            let series = race!(plan, plan.rounds(31, 7), pools, place, |on, shape| visit(
                shape,
                || on::bridge_items(black_box(100_000), steps),
                |mixed| *mixed
            ));
            let limits = [(PLAIN, Some(ITEMS_PLAIN_MAX)), (RAYON, None)];
            rows.push(row(name.into(), &series, ("us", 1e3), &limits));
        }
        if !rows.is_empty() {
            let title = format!("sequential sources {}", place.title());
            tables.push(Table::with_rows("everyday", title, "us", Judged::Median, rows));
        }
    }
    tables.extend(from_a_channel(plan, pools));
    tables
}

fn from_a_channel(plan: &mut Plan, pools: &Pools) -> Option<Table> {
    if !plan.wants_row("par_bridge, channel") {
        return None;
    }
    let series = race!(plan, plan.rounds(31, 7), pools, Place::Outside, |on, _shape| fed(on::channel));
    let mut rows = Vec::new();
    for (share, limit) in [(0.5, P50_MAX), (0.99, P99_MAX)] {
        for series in &series {
            let figure = quantile(&series.samples_ns, share) / 1e3;
            let sense = if series.name == HEIST { Sense::AtMost } else { Sense::Reported };
            let bar = Bar { measured: figure, what: "us".into(), sense, limit };
            rows.push(Row {
                name: format!("{}, p{}", series.name, share * 100.0),
                best: figure,
                median: figure,
                samples: series.samples_ns.len(),
                bars: if sense == Sense::AtMost { vec![bar] } else { Vec::new() },
            });
        }
    }
    let title = "par_bridge of a channel, a message every 1 ms: until its item begins";
    Some(Table::with_rows("everyday", title, "us", Judged::Median, rows))
}

/// A thread sends by the clock while `receive` takes what comes.
fn fed(receive: impl FnOnce(std::sync::mpsc::Receiver<Instant>) -> Vec<f64>) -> Visit<usize> {
    let (send, messages) = channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            let start = Instant::now();
            for number in 1..=MESSAGES as u32 {
                thread::sleep((start + GAP * number).saturating_duration_since(Instant::now()));
                if send.send(Instant::now()).is_err() {
                    return;
                }
            }
        });
        let samples_ns = receive(messages);
        Visit { value: samples_ns.len(), samples_ns }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_is_a_sample() {
        let visit = fed(super::super::plain::channel);
        assert_eq!((visit.value, visit.samples_ns.len()), (MESSAGES, MESSAGES));
    }
}
