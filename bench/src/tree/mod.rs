//! Sum of a binary tree: a little memory traffic for each fork, and inputs from tiny to large.

mod chili;
#[cfg(feature = "heist")]
mod heist;
mod joined;
mod node;
mod serial;

use std::hint::black_box;

use node::Node;

use crate::peers::{self, Backend, rayon::Rayon};
use crate::race::{Plan, Race};
use crate::report::{Judged, Table};
use crate::visit::repeat;

/// One size, with the shape of its visits.
struct Size {
    title: &'static str,
    nodes: usize,
    samples: usize,
    /// Calls in one sample.
    batch: u32,
    rounds: u32,
    quick_rounds: u32,
    unit: (&'static str, f64),
    /// The bars: at most this many times chili, by `join` and by `Fork`.
    limits: (f64, f64),
}

const SIZES: &[Size] = &[
    Size {
        title: "1,023 nodes",
        nodes: (1 << 10) - 1,
        samples: 100,
        batch: 16,
        rounds: 25,
        quick_rounds: 10,
        unit: ("us", 1e3),
        limits: (1.0, 0.9),
    },
    Size {
        title: "100,000 nodes",
        nodes: 100_000,
        samples: 10,
        batch: 1,
        rounds: 25,
        quick_rounds: 10,
        unit: ("us", 1e3),
        limits: (0.8, 0.7),
    },
    Size {
        title: "16.7 M nodes",
        nodes: (1 << 24) - 1,
        samples: 1,
        batch: 1,
        rounds: 9,
        quick_rounds: 3,
        unit: ("ms", 1e6),
        limits: (0.9, 0.9),
    },
];

const WORKERS: usize = 2;

pub fn line(plan: &mut Plan) -> Vec<Table> {
    SIZES.iter().map(|size| table(plan, size)).collect()
}

fn table(plan: &mut Plan, size: &Size) -> Table {
    let root = Node::tree(size.nodes);
    let root = &*root;
    let &Size { samples, batch, .. } = size;
    let rayon = Rayon::pool(WORKERS);
    let chili = peers::chili::pool(WORKERS);
    #[cfg(feature = "heist")]
    let heist = peers::heist::Heist::pool(WORKERS);

    let mut race = Race::new();
    race.enter("serial", || repeat(samples, batch, || serial::sum(black_box(root))));
    race.enter("rayon", || {
        rayon.install(|| repeat(samples, batch, || joined::sum::<Rayon>(black_box(root))))
    });
    race.enter("chili", || {
        let mut scope = chili.scope();
        repeat(samples, batch, || chili::sum(&mut scope, black_box(root)))
    });
    #[cfg(feature = "heist")]
    heist::enter(&mut race, &heist, root, samples, batch);

    let series = race.run(plan.rounds(size.rounds, size.quick_rounds), &mut plan.rng);
    let title = format!("{}, {WORKERS} workers", size.title);
    let mut table = Table::new("tree", title, size.unit, Judged::Best, &series);
    #[cfg(feature = "heist")]
    heist::judge(&mut table, size.limits);
    table
}
