//! Everything that stands between a source and an end.
//!
//! Adaptors that make something else of the items make items of it again.

use crate::erased::{IndexedLoop, Loop};
use crate::ledger::{Item, Ledger, Place};
use crate::sources::Stream;
use heist_iter::iter::Either;
use heist_iter::prelude::*;
use std::sync::Arc;

/// `any` is for loops that have no index, and for all loops if there is no `indexed`.
pub struct Adaptor {
    pub name: &'static str,
    pub keeps_index: bool,
    pub any: Option<for<'c> fn(&'c Arc<Ledger>, Loop<'c>) -> Stream<'c>>,
    pub indexed: Option<for<'c> fn(&'c Arc<Ledger>, IndexedLoop<'c>) -> Stream<'c>>,
}

/// `any` makes a loop without an index of any loop, `both` keeps the index if there is one, `index` needs and keeps it,
/// and `drops_index` needs it.
macro_rules! adaptors {
    ($($kind:ident $name:literal |$ledger:ident, $iter:ident| $make:expr;)*) => {
        pub const ADAPTORS: &[Adaptor] = &[$(adaptors!(@$kind $name |$ledger, $iter| $make),)*];
    };
    (@any $name:literal |$ledger:ident, $iter:ident| $make:expr) => {
        Adaptor {
            name: $name,
            keeps_index: false,
            any: Some(|$ledger, $iter| Stream::Any(Loop::new($make))),
            indexed: None,
        }
    };
    (@both $name:literal |$ledger:ident, $iter:ident| $make:expr) => {
        Adaptor {
            name: $name,
            keeps_index: true,
            any: Some(|$ledger, $iter| Stream::Any(Loop::new($make))),
            indexed: Some(|$ledger, $iter| Stream::Indexed(IndexedLoop::new($make))),
        }
    };
    (@index $name:literal |$ledger:ident, $iter:ident| $make:expr) => {
        Adaptor {
            name: $name,
            keeps_index: true,
            any: None,
            indexed: Some(|$ledger, $iter| Stream::Indexed(IndexedLoop::new($make))),
        }
    };
    (@drops_index $name:literal |$ledger:ident, $iter:ident| $make:expr) => {
        Adaptor {
            name: $name,
            keeps_index: false,
            any: None,
            indexed: Some(|$ledger, $iter| Stream::Any(Loop::new($make))),
        }
    };
}

adaptors! {
    both "as it is" |_l, iter| iter;
    both "map" |l, iter| iter.map(|item| through(l, item));
    both "map_with" |l, iter| iter.map_with(l.item(1), |_own, item| through(l, item));
    both "map_init" |l, iter| iter.map_init(|| l.item(1), |_own, item| through(l, item));
    both "inspect" |l, iter| iter.inspect(|_| l.reach(Place::Adaptor));
    both "update" |l, iter| iter.update(|item| *item = through(l, l.item(item.id)));
    both "map to a clone" |l, iter| iter.map(|item| renewed(l, item));
    any "filter" |l, iter| iter.filter(|item| odd(l, item));
    any "filter_map" |l, iter| iter.filter_map(|item| odd(l, &item).then_some(item));
    any "flat_map" |l, iter| iter.flat_map(|item| pair(l, item));
    any "flat_map_iter" |l, iter| iter.flat_map_iter(|item| pair(l, item));
    any "flatten" |l, iter| iter.map(|item| pair(l, item)).flatten();
    any "flatten of options" |l, iter| iter.map(|item| odd(l, &item).then_some(item)).flatten();
    any "flatten_iter" |l, iter| iter.map(|item| pair(l, item)).flatten_iter();
    any "fold" |l, iter| iter.fold(Vec::new, |items, item| gather(l, items, item)).flatten_iter();
    any "fold_with" |l, iter| {
        iter.fold_with(vec![l.item(1)], |items, item| gather(l, items, item)).flatten_iter()
    };
    any "try_fold" |l, iter| {
        iter.try_fold(Vec::new, |items, item| try_gather(l, items, item)).flat_map_iter(either)
    };
    any "try_fold_with" |l, iter| {
        iter.try_fold_with(vec![l.item(1)], |items, item| try_gather(l, items, item)).flat_map_iter(either)
    };
    both "chain before" |l, iter| iter.chain(l.items(0..5));
    both "chain after" |l, iter| l.items(0..5).into_par_iter().chain(iter);
    both "intersperse" |l, iter| iter.intersperse(l.item(1));
    both "panic_fuse" |l, iter| iter.map(|item| through(l, item)).panic_fuse();
    any "while_some" |l, iter| iter.map(|item| few(l, &item).then_some(item)).while_some();
    any "take_any" |_l, iter| iter.take_any(9);
    any "skip_any" |_l, iter| iter.skip_any(9);
    any "take_any_while" |l, iter| iter.take_any_while(|item| few(l, item));
    any "skip_any_while" |l, iter| iter.skip_any_while(|item| few(l, item));
    both "Either" |l, iter| if l.has_sprung() { Either::Left(iter) } else { Either::Right(iter) };
    index "zip" |l, iter| iter.zip(l.items(0..20)).map(left);
    index "zip, other side" |l, iter| l.items(0..20).into_par_iter().zip(iter).map(right);
    index "zip_eq" |l, iter| {
        let others = l.items(0..iter.len());
        iter.zip_eq(others).map(left)
    };
    index "interleave" |l, iter| iter.interleave(l.items(0..20));
    index "interleave_shortest" |l, iter| iter.interleave_shortest(l.items(0..20));
    index "chunks" |l, iter| iter.chunks(3).map(|chunk| through(l, first(chunk)));
    index "fold_chunks" |l, iter| {
        iter.fold_chunks(3, Vec::new, |items, item| gather(l, items, item)).map(first)
    };
    index "fold_chunks_with" |l, iter| {
        iter.fold_chunks_with(3, vec![l.item(1)], |items, item| gather(l, items, item))
            .map(first)
    };
    index "enumerate" |_l, iter| iter.enumerate().map(right);
    index "step_by" |_l, iter| iter.step_by(3);
    index "skip" |_l, iter| iter.skip(4);
    index "take" |_l, iter| iter.take(40);
    index "rev" |_l, iter| iter.rev();
    index "with_min_len" |_l, iter| iter.with_min_len(10);
    index "with_max_len" |_l, iter| iter.with_max_len(5);
    index "map_init.rev.enumerate" |l, iter| {
        iter.map_init(|| l.item(1), |_own, item| through(l, item)).rev().enumerate().map(right)
    };
    index "map_with.zip.skip" |l, iter| {
        let others = l.items(0..100);
        iter.map_with(l.item(1), |_own, item| through(l, item)).zip(others).skip(1).map(left)
    };
    drops_index "by_exponential_blocks" |_l, iter| iter.by_exponential_blocks();
    drops_index "by_uniform_blocks" |_l, iter| iter.by_uniform_blocks(8);
    drops_index "positions" |l, iter| iter.positions(|item| odd(l, &item)).map(|id| l.item(id));
}

fn through(ledger: &Ledger, item: Item) -> Item {
    ledger.reach(Place::Adaptor);
    item
}

/// Whatever is dropped is dropped before there is a result, here and below: the language forgets a result if a drop after
/// it panics.
fn renewed(ledger: &Ledger, item: Item) -> Item {
    let clone = item.clone();
    drop(item);
    through(ledger, clone)
}

fn first(mut items: Vec<Item>) -> Item {
    items.truncate(1);
    items.remove(0)
}

fn left<A, B>((left, right): (A, B)) -> A {
    drop(right);
    left
}

fn right<A, B>((left, right): (A, B)) -> B {
    drop(left);
    right
}

fn odd(ledger: &Ledger, item: &Item) -> bool {
    ledger.reach(Place::Adaptor);
    item.id % 2 == 1
}

/// True for the first items, and some later ones.
fn few(ledger: &Ledger, item: &Item) -> bool {
    ledger.reach(Place::Adaptor);
    item.id % 32 < 24
}

fn pair(ledger: &Arc<Ledger>, item: Item) -> Vec<Item> {
    ledger.reach(Place::Adaptor);
    vec![ledger.item(item.id), item]
}

fn gather(ledger: &Ledger, mut items: Vec<Item>, item: Item) -> Vec<Item> {
    ledger.reach(Place::Adaptor);
    items.push(item);
    items
}

fn try_gather(ledger: &Ledger, items: Vec<Item>, item: Item) -> Result<Vec<Item>, Item> {
    if few(ledger, &item) {
        Ok(gather(ledger, items, item))
    } else {
        drop(items);
        Err(item)
    }
}

fn either(gathered: Result<Vec<Item>, Item>) -> Vec<Item> {
    gathered.unwrap_or_else(|item| vec![item])
}
