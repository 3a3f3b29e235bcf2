//! heist by recursive halving with `join`, and the bars.

use std::hint::black_box;

use heist::ThreadPool;

use super::{ITEMS, Items, LEAF, SAMPLES, halving};
use crate::peers::heist::Heist;
use crate::race::Race;
use crate::report::Table;
use crate::visit::repeat;

pub fn enter<'a>(race: &mut Race<'a, u64>, pool: &'a ThreadPool, items: Items) {
    race.enter("heist join", move || {
        pool.install(|| {
            let sum = || halving::sum::<Heist>(0..black_box(ITEMS), LEAF, &|block| items.sum(block));
            repeat(SAMPLES, 1, sum)
        })
    });
}

pub fn judge(table: &mut Table, items: Items) {
    let limit = match items {
        Items::Uneven => 1.97,
        Items::Skewed => 1.93,
    };
    table.speedup_at_least("heist join", limit, "serial");
}
