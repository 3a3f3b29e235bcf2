//! heist by `join` and by `Fork`, and the bars.

use std::hint::black_box;

use heist::{Fork, ThreadPool};

use super::{Node, joined};
use crate::peers::heist::Heist;
use crate::race::Race;
use crate::report::Table;
use crate::visit::repeat;

fn sum(fork: Fork<'_>, node: &Node) -> u64 {
    let (near, far) = fork.join(
        |fork| node.near.as_deref().map_or(0, |near| sum(fork, near)),
        |fork| node.far.as_deref().map_or(0, |far| sum(fork, far)),
    );
    node.value + near + far
}

pub fn enter<'a>(race: &mut Race<'a, u64>, pool: &'a ThreadPool, root: &'a Node, samples: usize, batch: u32) {
    race.enter("heist join", move || {
        pool.install(|| repeat(samples, batch, || joined::sum::<Heist>(black_box(root))))
    });
    race.enter("heist Fork", move || {
        pool.install(|| repeat(samples, batch, || heist::fork(|fork| sum(fork, black_box(root)))))
    });
}

pub fn judge(table: &mut Table, (join, fork): (f64, f64)) {
    table.at_most("heist join", join, "chili");
    table.at_most("heist Fork", fork, "chili");
}
