//! The alternation: every round visits every contestant once, in an order drawn anew.
//!
//! Drift of the machine (frequency, neighbours, temperature) then falls on all alike, and nobody always runs
//! after the same predecessor.

use std::fmt::Debug;
use std::thread;
use std::time::Duration;

use crate::visit::Visit;

/// Before each visit the previous contestant's workers get time to fall asleep, so that their search for work
/// does not take a core from the next one.
const SETTLE: Duration = Duration::from_millis(1);

/// How a line is to be run.
pub struct Plan {
    pub quick: bool,
    pub rounds: Option<u32>,
    /// Parts of the names of the rows to run; all if there are none.
    pub rows: Vec<String>,
    pub rng: fastrand::Rng,
}

impl Plan {
    /// The rounds asked for, or the line's own default.
    pub fn rounds(&self, full: u32, quick: u32) -> u32 {
        self.rounds.unwrap_or(if self.quick { quick } else { full })
    }

    /// Whether a row was asked for.
    pub fn wants_row(&self, name: &str) -> bool {
        self.rows.is_empty() || self.rows.iter().any(|row| name.contains(row))
    }

    /// The size for a full or a quick run.
    pub fn size<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }
}

type Turn<'a, V> = Box<dyn FnMut() -> Visit<V> + 'a>;

/// Contestants that compute the same value.
pub struct Race<'a, V> {
    turns: Vec<(String, Turn<'a, V>)>,
}

/// All samples of one contestant, in nanoseconds per unit.
pub struct Series {
    pub name: String,
    pub samples_ns: Vec<f64>,
}

impl<'a, V: PartialEq + Debug> Race<'a, V> {
    pub fn new() -> Self {
        Race { turns: Vec::new() }
    }

    /// Adds a contestant. The first one's value is what all others must compute.
    pub fn enter(&mut self, name: impl Into<String>, turn: impl FnMut() -> Visit<V> + 'a) {
        let name = name.into();
        assert!(self.turns.iter().all(|(other, _)| *other != name), "two contestants are called {name}");
        self.turns.push((name, Box::new(turn)));
    }

    /// Who takes part.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.turns.iter().map(|(name, _)| name.as_str())
    }

    /// Runs one round that does not count, then `rounds` that do.
    pub fn run(mut self, rounds: u32, rng: &mut fastrand::Rng) -> Vec<Series> {
        let mut expected: Option<V> = None;
        let mut series: Vec<Series> = self
            .turns
            .iter()
            .map(|(name, _)| Series { name: name.clone(), samples_ns: Vec::new() })
            .collect();
        let mut order: Vec<usize> = (0..self.turns.len()).collect();
        for round in 0..=rounds {
            if round > 0 {
                rng.shuffle(&mut order);
            }
            for &who in &order {
                thread::sleep(SETTLE);
                let visit = (self.turns[who].1)();
                match &expected {
                    Some(expected) => {
                        assert_eq!(visit.value, *expected, "{} computed something else", series[who].name);
                    }
                    None => expected = Some(visit.value),
                }
                if round > 0 {
                    series[who].samples_ns.extend(visit.samples_ns);
                }
            }
        }
        series
    }
}

impl Series {
    pub fn best_ns(&self) -> f64 {
        self.samples_ns.iter().copied().fold(f64::INFINITY, f64::min)
    }

    pub fn median_ns(&self) -> f64 {
        let mut sorted = self.samples_ns.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        if sorted.len().is_multiple_of(2) {
            (sorted[middle - 1] + sorted[middle]) / 2.0
        } else {
            sorted[middle]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(samples_ns: &[f64]) -> Series {
        Series { name: "some".into(), samples_ns: samples_ns.to_vec() }
    }

    #[test]
    fn best_and_median() {
        assert_eq!(series(&[3.0, 1.0, 2.0]).best_ns(), 1.0);
        assert_eq!(series(&[3.0, 1.0, 2.0]).median_ns(), 2.0);
        assert_eq!(series(&[4.0, 1.0, 2.0, 3.0]).median_ns(), 2.5);
    }

    #[test]
    fn every_round_visits_everyone_and_the_first_does_not_count() {
        let mut race = Race::new();
        for name in ["a", "b"] {
            race.enter(name, || Visit { value: 7, samples_ns: vec![1.0, 2.0] });
        }
        for series in race.run(3, &mut fastrand::Rng::with_seed(1)) {
            assert_eq!(series.samples_ns.len(), 6);
        }
    }

    #[test]
    #[should_panic(expected = "b computed something else")]
    fn unequal_results_are_noticed() {
        let mut race = Race::new();
        race.enter("a", || Visit { value: 1, samples_ns: vec![1.0] });
        race.enter("b", || Visit { value: 2, samples_ns: vec![1.0] });
        race.run(1, &mut fastrand::Rng::with_seed(1));
    }
}
