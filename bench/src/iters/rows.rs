//! The rows: which workload, on what, at which sizes.
//!
//! Small is about a microsecond of work for one thread, too little to gain anything by sharing it; middle is some 10 to
//! 500 us, and large some milliseconds.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

#[cfg(feature = "heist")]
use super::on_heist;
use super::{Figures, Outcome, Size, WORKERS, inputs, on_rayon};
use crate::peers::{Backend, rayon::Rayon};
use crate::race::{Plan, Race, Series};
use crate::visit::Visit;

/// A sample lasts at least about this long, so that the clock's own price does not count.
const SAMPLE: Duration = Duration::from_micros(100);
/// What a visit may take. Large inputs get two samples anyway.
const VISIT: Duration = Duration::from_millis(6);
const SAMPLES_MIN: usize = 2;
const SAMPLES_MAX: usize = 25;

/// Runs the rows that were asked for.
pub fn run(plan: &mut Plan) -> Vec<Outcome> {
    let mut rows = Rows { rayon: Rayon::pool(WORKERS), heist: heist_pool(), outcomes: Vec::new() };

    /// One workload: its name, its input, its sizes, how to call it, and what to compare.
    macro_rules! row {
        ($name:literal, $input:expr, [$small:expr, $middle:expr, $large:expr],
         |$work:ident, $in:ident| $call:expr, |$seen:ident, $out:ident| $digest:expr) => {
            if plan.wants_row($name) {
                for (size, items) in Size::ALL.into_iter().zip([$small, $middle, $large]) {
                    rows.race(
                        plan,
                        ($name, size, items),
                        $input(items),
                        |$in| {
                            use on_rayon::work as $work;
                            $call
                        },
                        |$in| {
                            #[cfg(feature = "heist")]
                            use on_heist::work as $work;
                            #[cfg(not(feature = "heist"))]
                            use on_rayon::work as $work;
                            $call
                        },
                        |$seen, $out| $digest,
                    );
                }
            }
        };
    }

    use inputs::{board, bodies, cities, count, matrices, numbers, text, triples};
    row!("sum", numbers, [1_000, 100_000, 4_000_000], |on, v| on::sum::run(v), |_v, sum| *sum);
    row!(
        "map + collect",
        numbers,
        [1_000, 100_000, 2_000_000],
        |on, v| on::map_collect::run(v),
        |_v, mapped| { digest(mapped) }
    );
    row!(
        "filter + collect",
        numbers,
        [1_000, 100_000, 2_000_000],
        |on, v| on::filter_collect::run(v),
        |_v, kept| digest(kept)
    );
    row!(
        "zip + for_each",
        triples,
        [1_000, 100_000, 2_000_000],
        |on, v| on::zip_for_each::run(v),
        |v, _unit| digest(&v.0)
    );
    row!("chunks", numbers, [1_000, 100_000, 4_000_000], |on, v| on::chunks::run(v), |_v, sums| digest(sums));
    row!("flat_map", count, [20, 10_000, 500_000], |on, n| on::flat_map::run(n), |_n, sum| *sum);
    row!("fold + reduce", numbers, [200, 100_000, 4_000_000], |on, v| on::fold_reduce::run(v), |_v, bins| {
        digest(bins)
    });
    row!(
        "find_first late",
        numbers,
        [1_000, 100_000, 4_000_000],
        |on, v| on::find_first::late(v),
        |_v, at| { digest(at) }
    );
    row!(
        "find_first early",
        numbers,
        [1_000, 100_000, 4_000_000],
        |on, v| on::find_first::early(v),
        |_v, at| { digest(at) }
    );
    row!("any", numbers, [1_000, 100_000, 4_000_000], |on, v| on::any::run(v), |_v, is| u64::from(*is));
    row!("min_by_key", numbers, [1_000, 100_000, 4_000_000], |on, v| on::min_by_key::run(v), |_v, least| {
        digest(least)
    });
    row!("group by", numbers, [20, 20_000, 500_000], |on, v| on::group::run(v), |_v, groups| {
        digest_groups(groups)
    });
    row!("par_bridge", count, [20, 2_000, 50_000], |on, n| on::bridge::run(n), |_n, mixed| *mixed);
    row!("string split", text, [300, 100_000, 4_000_000], |on, s| on::strings::split(s), |_s, words| {
        *words as u64
    });
    row!("string lines", text, [1_000, 100_000, 8_000_000], |on, s| on::strings::lines(s), |_s, longest| {
        digest(longest)
    });
    row!("nested loops", count, [4, 1_000, 50_000], |on, n| on::nested::run(n), |_n, sum| *sum);
    row!(
        "matmul",
        matrices,
        [8, 64, 256],
        |on, m| on::matmul::run(m.side, &m.a, &m.b, &mut m.product),
        |m, _unit| digest_floats(&m.product)
    );
    row!("nbody", bodies, [10, 200, 1_500], |on, v| on::nbody::run(v), |_v, pulls| digest_floats(
        pulls.as_flattened()
    ));
    row!("quicksort", numbers, [60, 10_000, 500_000], |on, v| on::quicksort::run(v), |_v, sorted| digest(
        sorted
    ));
    row!("mergesort", numbers, [60, 10_000, 500_000], |on, v| on::mergesort::run(v), |_v, sorted| digest(
        sorted
    ));
    row!("sieve", count, [1_000, 300_000, 8_000_000], |on, n| on::sieve::run(n), |_n, primes| *primes as u64);
    row!(
        "game of life",
        board,
        [12, 128, 1_000],
        |on, b| on::life::run(b.side, &b.cells, &mut b.next),
        |b, _unit| digest(&b.next)
    );
    row!("tsp", cities, [4, 8, 10], |on, d| on::tsp::run(d), |_d, length| *length);
    row!("nqueens", count, [4, 7, 9], |on, n| on::nqueens::run(n), |_n, ways| *ways as u64);
    rows.outcomes
}

#[cfg(feature = "heist")]
fn heist_pool() -> Option<heist::ThreadPool> {
    Some(crate::peers::heist::Heist::pool(WORKERS))
}

/// Without heist there is nobody to install into.
#[cfg(not(feature = "heist"))]
fn heist_pool() -> Option<rayon::ThreadPool> {
    None
}

#[cfg(feature = "heist")]
type HeistPool = heist::ThreadPool;
#[cfg(not(feature = "heist"))]
type HeistPool = rayon::ThreadPool;

struct Rows {
    rayon: rayon::ThreadPool,
    heist: Option<HeistPool>,
    outcomes: Vec<Outcome>,
}

impl Rows {
    /// Both work on the same input, one after the other.
    fn race<I: Send, O>(
        &mut self,
        plan: &mut Plan,
        (name, size, items): (&str, Size, usize),
        input: I,
        on_rayon: impl Fn(&mut I) -> O + Sync,
        on_heist: impl Fn(&mut I) -> O + Sync,
        digest: impl Fn(&I, &O) -> u64 + Sync,
    ) {
        let input = Mutex::new(input);
        let input = || input.lock().expect("a workload that panicked has ended the run");
        let (samples, batch) = self.rayon.install(|| shape_of_visit(|| on_rayon(&mut input())));
        let mut race = Race::new();
        race.enter("rayon", || {
            self.rayon.install(|| visit(samples, batch, &mut *input(), &on_rayon, &digest))
        });
        if let Some(heist) = &self.heist {
            race.enter("heist", || {
                heist.install(|| visit(samples, batch, &mut *input(), &on_heist, &digest))
            });
        }
        let mut series =
            race.run(plan.rounds(15, 5), &mut plan.rng).into_iter().map(|series| figures(&series));
        let rayon = series.next().expect("rayon takes part");
        self.outcomes.push(Outcome { size, name: name.into(), items, rayon, heist: series.next() });
    }
}

/// How many samples of how many calls, judged by a few calls.
fn shape_of_visit<O>(mut call: impl FnMut() -> O) -> (usize, u32) {
    let one = (0..3)
        .map(|_| {
            let start = Instant::now();
            drop(call());
            start.elapsed()
        })
        .min()
        .expect("there were calls")
        .max(Duration::from_nanos(1));
    let batch = SAMPLE.div_duration_f64(one).ceil();
    let samples = VISIT.div_duration_f64(one * batch as u32) as usize;
    (samples.clamp(SAMPLES_MIN, SAMPLES_MAX), batch as u32)
}

/// Like [`crate::visit::repeat`], with an input that is changed and a value that is made after the clock has stopped.
fn visit<I, O>(
    samples: usize,
    batch: u32,
    input: &mut I,
    work: &impl Fn(&mut I) -> O,
    digest: &impl Fn(&I, &O) -> u64,
) -> Visit<u64> {
    let Visit { value, samples_ns } = crate::visit::repeat(samples, batch, || work(&mut *input));
    Visit { value: digest(input, &value), samples_ns }
}

fn figures(series: &Series) -> Figures {
    Figures {
        best: series.best_ns() / 1e3,
        median: series.median_ns() / 1e3,
        samples: series.samples_ns.len(),
    }
}

/// Differs if the items differ, or their order.
fn digest<'a, T: Copy + TryInto<u64> + 'a>(items: impl IntoIterator<Item = &'a T>) -> u64 {
    items.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, item| {
        let Ok(item) = (*item).try_into() else { panic!("an item is not a natural number") };
        (hash ^ item).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29)
    })
}

fn digest_floats(items: &[f64]) -> u64 {
    digest(&items.iter().map(|item| item.to_bits()).collect::<Vec<_>>())
}

/// The groups have no order, their members do.
fn digest_groups(groups: &HashMap<u64, Vec<u64>>) -> u64 {
    groups.iter().fold(0, |sum, (key, members)| sum ^ digest(members).wrapping_add(*key))
}
