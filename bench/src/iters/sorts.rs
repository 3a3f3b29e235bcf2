//! The parallel sorts against rayon's and against the standard library's.

use std::fmt::Debug;
use std::time::Instant;

use fastrand::Rng;

#[cfg(feature = "heist")]
use super::on_heist;
use super::{WORKERS, on_rayon};
use crate::peers::{Backend, rayon::Rayon};
use crate::race::{Plan, Race};
use crate::report::{Judged, Table};
use crate::visit::Visit;

/// How an input is laid out decides what is asked of the sort.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    Random,
    /// Sorted, reversed or with few distinct values: someone may know a short cut.
    Special,
}

pub fn line(plan: &mut Plan) -> Vec<Table> {
    let numbers = plan.size(10_000_000, 1_000_000);
    let strings = plan.size(2_000_000, 200_000);
    let wide = plan.size(200_000, 50_000);
    let mut rng = Rng::with_seed(7);
    let mut random = |len: usize, below: u64| (0..len).map(|_| rng.u64(..below)).collect::<Vec<u64>>();
    let mut tables = Vec::new();

    let mut add = |tables: &mut Vec<Table>, name: &str, layout, input: &mut dyn FnMut() -> Vec<u64>| {
        if plan.wants_row(name) {
            tables.extend(both(plan, name, layout, &input()));
        }
    };
    add(&mut tables, "random u64", Layout::Random, &mut || random(numbers, u64::MAX));
    add(&mut tables, "sorted u64", Layout::Special, &mut || (0..numbers as u64).collect());
    add(&mut tables, "reversed u64", Layout::Special, &mut || (0..numbers as u64).rev().collect());
    add(&mut tables, "16 distinct u64", Layout::Special, &mut || random(numbers, 16));
    if plan.wants_row("strings") {
        let input: Vec<String> = random(strings, u64::MAX).iter().map(|key| format!("{key:x}")).collect();
        tables.extend(both(plan, "random strings", Layout::Random, &input));
    }
    if plan.wants_row("256 bytes") {
        let input: Vec<[u64; 32]> = random(wide, u64::MAX).iter().map(|key| [*key; 32]).collect();
        tables.extend(both(plan, "random elements of 256 bytes", Layout::Random, &input));
    }
    tables
}

/// Which sort, and what it must keep against rayon and the standard library on random inputs.
struct Kind<T> {
    name: &'static str,
    std: fn(&mut [T]),
    rayon: fn(&mut [T]),
    #[cfg(feature = "heist")]
    heist: fn(&mut [T]),
    rayon_max: f64,
    std_max: f64,
}

fn both<T: Ord + Clone + Send + Sync + Debug>(
    plan: &mut Plan,
    name: &str,
    layout: Layout,
    input: &[T],
) -> [Table; 2] {
    let unstable = Kind {
        name: "par_sort_unstable",
        std: <[T]>::sort_unstable,
        rayon: on_rayon::work::sorts::unstable,
        #[cfg(feature = "heist")]
        heist: on_heist::work::sorts::unstable,
        rayon_max: 0.75,
        std_max: 0.62,
    };
    let stable = Kind {
        name: "par_sort",
        std: <[T]>::sort,
        rayon: on_rayon::work::sorts::stable,
        #[cfg(feature = "heist")]
        heist: on_heist::work::sorts::stable,
        rayon_max: 0.5,
        std_max: 0.62,
    };
    [unstable, stable].map(|kind| table(plan, name, layout, input, &kind))
}

/// What a sort may take in terms of the better of the two others where there is a short cut.
const SPECIAL_MAX: f64 = 1.1;

fn table<T: Ord + Clone + Send + Sync + Debug>(
    plan: &mut Plan,
    name: &str,
    layout: Layout,
    input: &[T],
    kind: &Kind<T>,
) -> Table {
    let rayon = Rayon::pool(WORKERS);
    #[cfg(feature = "heist")]
    let heist = crate::peers::heist::Heist::pool(WORKERS);

    let mut race = Race::new();
    race.enter("std", || visit(input, kind.std));
    race.enter("rayon", || rayon.install(|| visit(input, kind.rayon)));
    #[cfg(feature = "heist")]
    race.enter("heist", || heist.install(|| visit(input, kind.heist)));
    let series = race.run(plan.rounds(7, 7), &mut plan.rng);

    let title = format!("{} of {} {name}, {WORKERS} workers", kind.name, input.len());
    let mut table = Table::new("sorts", title, ("ms", 1e6), Judged::Best, &series);
    if cfg!(feature = "heist") {
        match layout {
            Layout::Random => {
                table.at_most("heist", kind.rayon_max, "rayon");
                table.at_most("heist", kind.std_max, "std");
            }
            Layout::Special => {
                let better = if table.figure("rayon") < table.figure("std") { "rayon" } else { "std" };
                table.at_most("heist", SPECIAL_MAX, better);
            }
        }
    }
    table
}

/// One sort of a fresh copy; the copy is made, and the outcome looked at, while the clock stands.
fn visit<T: Ord + Clone>(input: &[T], sort: fn(&mut [T])) -> Visit<bool> {
    let mut v = input.to_vec();
    let start = Instant::now();
    sort(&mut v);
    let spent = start.elapsed();
    assert!(v.is_sorted(), "not sorted");
    Visit { value: v.len() == input.len(), samples_ns: vec![spent.as_nanos() as f64] }
}
