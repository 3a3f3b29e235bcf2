//! Everything that drives a loop.

use crate::erased::{IndexedLoop, Loop};
use crate::ledger::{Item, Ledger, Place};
use crate::sources::Hashing;
use heist_iter::iter::Either;
use heist_iter::prelude::*;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::iter::{Product, Sum};
use std::ops::ControlFlow;
use std::sync::Arc;

pub struct End {
    pub name: &'static str,
    pub drive: Drive,
}

/// Drives a loop and drops what it comes to.
pub enum Drive {
    Any(fn(&Arc<Ledger>, Loop<'_>)),
    Indexed(fn(&Arc<Ledger>, IndexedLoop<'_>)),
}

macro_rules! ends {
    ($($kind:ident $name:literal |$ledger:ident, $iter:ident| $drive:expr;)*) => {
        pub const ENDS: &[End] =
            &[$(End { name: $name, drive: Drive::$kind(|$ledger, $iter| { let _result = $drive; }) },)*];
    };
}

type Two<A, B> = (A, B);

ends! {
    Any "never driven" |_l, iter| drop(iter);
    Any "collect: Vec" |_l, iter| iter.collect::<Vec<_>>();
    Any "collect: Box<[T]>" |_l, iter| iter.collect::<Box<[_]>>();
    Any "collect: Arc<[T]>" |_l, iter| iter.collect::<Arc<[_]>>();
    Any "collect: VecDeque" |_l, iter| iter.collect::<VecDeque<_>>();
    Any "collect: LinkedList" |_l, iter| iter.collect::<LinkedList<_>>();
    Any "collect: BinaryHeap" |_l, iter| iter.collect::<BinaryHeap<_>>();
    Any "collect: BTreeSet" |_l, iter| iter.collect::<BTreeSet<_>>();
    Any "collect: HashSet" |_l, iter| iter.collect::<HashSet<_, Hashing>>();
    Any "collect: BTreeMap" |l, iter| iter.map(|i| (l.item(i.id / 2), i)).collect::<BTreeMap<_, _>>();
    Any "collect: HashMap" |l, iter| iter.map(|i| (l.item(i.id / 2), i)).collect::<HashMap<_, _, Hashing>>();
    Any "collect: Option" |l, iter| iter.map(|i| most(l, &i).then_some(i)).collect::<Option<Vec<_>>>();
    Any "collect: Result" |l, iter| iter.map(|i| sorted(l, i)).collect::<Result<Vec<_>, _>>();
    Any "collect: pair" |l, iter| iter.map(|i| (l.item(i.id), i)).collect::<Two<Vec<_>, VecDeque<_>>>();
    Any "collect: Either" |l, iter| iter.map(|i| left_or_right(l, i)).collect::<Two<Vec<_>, LinkedList<_>>>();
    Any "collect_vec_list" |_l, iter| iter.collect_vec_list();
    Any "par_extend: Vec" |l, iter| extended(l.items(0..3), iter);
    Any "par_extend: VecDeque" |l, iter| extended(VecDeque::from(l.items(0..3)), iter);
    Any "par_extend: LinkedList" |l, iter| extended(LinkedList::from_iter(l.items(0..3)), iter);
    Any "par_extend: BinaryHeap" |l, iter| extended(BinaryHeap::from(l.items(0..3)), iter);
    Any "par_extend: BTreeSet" |_l, iter| extended(BTreeSet::new(), iter);
    Any "par_extend: HashSet" |l, iter| extended(HashSet::<_, Hashing>::from_iter(l.items(0..3)), iter);
    Any "par_extend: BTreeMap" |l, iter| {
        extended(BTreeMap::from_iter(l.items(0..3).into_iter().enumerate()), iter.map(|i| (i.id, i)))
    };
    Any "par_extend: HashMap" |l, iter| {
        let some = l.items(0..3).into_iter().enumerate();
        extended(HashMap::<_, _, Hashing>::from_iter(some), iter.map(|i| (i.id, i)))
    };
    Any "par_extend: Either" |l, iter| {
        extended(Either::<Vec<_>, VecDeque<_>>::Right(l.items(0..3).into()), iter)
    };
    Any "par_extend: pair" |l, iter| {
        extended((l.items(0..3), LinkedList::from_iter(l.items(0..3))), iter.map(|i| (l.item(i.id), i)))
    };
    Any "unzip" |l, iter| iter.map(|i| (l.item(i.id), i)).unzip::<_, _, Vec<_>, Vec<_>>();
    Any "unzip: sets" |l, iter| iter.map(|i| (l.item(i.id), i)).unzip::<_, _, BTreeSet<_>, LinkedList<_>>();
    Any "unzip: Vec, (Vec, HashSet)" |l, iter| {
        let triples = iter.map(|i| (i.id, (l.item(i.id), i)));
        triples.unzip::<_, _, Vec<_>, Two<Vec<_>, HashSet<_, Hashing>>>()
    };
    Any "partition" |l, iter| iter.partition::<Vec<_>, LinkedList<_>, _>(|i| most(l, i));
    Any "partition_map" |l, iter| iter.partition_map::<Vec<_>, VecDeque<_>, _, _, _>(|i| left_or_right(l, i));
    Any "for_each" |l, iter| iter.for_each(|i| used(l, i));
    Any "for_each_with" |l, iter| iter.for_each_with(l.item(0), |own, i| *own = kept(l, i));
    Any "for_each_init" |l, iter| iter.for_each_init(|| l.item(0), |own, i| *own = kept(l, i));
    Any "try_for_each" |l, iter| iter.try_for_each(|i| sorted(l, i).map(drop));
    Any "try_for_each: Option" |l, iter| iter.try_for_each(|i| sorted(l, i).ok().map(drop));
    Any "try_for_each_with" |l, iter| {
        iter.try_for_each_with(l.item(0), |own, i| sorted(l, i).map(|i| *own = i))
    };
    Any "try_for_each_init" |l, iter| {
        iter.try_for_each_init(|| l.item(0), |own, i| sorted(l, i).map(|i| *own = i))
    };
    Any "count" |_l, iter| iter.count();
    Any "reduce" |l, iter| iter.reduce(|| l.item(0), |a, b| greater(l, a, b));
    Any "reduce_with" |l, iter| iter.reduce_with(|a, b| greater(l, a, b));
    Any "try_reduce" |l, iter| {
        iter.map(Ok).try_reduce(|| l.item(0), |a, b| sorted(l, greater(l, a, b)))
    };
    Any "try_reduce_with" |l, iter| {
        iter.map(|i| if i.id == 50 { ControlFlow::Break(i) } else { ControlFlow::Continue(i) })
            .try_reduce_with(|a, b| ControlFlow::<Item, Item>::Continue(greater(l, a, b)))
    };
    Any "sum" |_l, iter| iter.sum::<Total>();
    Any "product" |_l, iter| iter.product::<Total>();
    Any "min" |_l, iter| iter.min();
    Any "max" |_l, iter| iter.max();
    Any "min_by" |l, iter| iter.min_by(|a, b| { l.reach(Place::End); a.cmp(b) });
    Any "max_by" |l, iter| iter.max_by(|a, b| { l.reach(Place::End); a.cmp(b) });
    Any "min_by_key" |l, iter| iter.min_by_key(|i| { l.reach(Place::End); l.item(i.id) });
    Any "max_by_key" |l, iter| iter.max_by_key(|i| { l.reach(Place::End); l.item(i.id) });
    Any "find_any" |l, iter| iter.find_any(|i| !most(l, i));
    Any "find_first" |l, iter| iter.find_first(|i| !most(l, i));
    Any "find_last" |l, iter| iter.find_last(|i| !most(l, i));
    Any "find_map_any" |l, iter| iter.find_map_any(|i| sorted(l, i).err());
    Any "find_map_first" |l, iter| iter.find_map_first(|i| sorted(l, i).err());
    Any "find_map_last" |l, iter| iter.find_map_last(|i| sorted(l, i).err());
    Any "any" |l, iter| iter.any(|i| !most(l, &i));
    Any "all" |l, iter| iter.all(|i| most(l, &i));
    Indexed "collect_into_vec" |l, iter| {
        let mut target = l.items(0..400);
        iter.collect_into_vec(&mut target);
        target
    };
    Indexed "unzip_into_vecs" |l, iter| {
        let (mut left, mut right) = (l.items(0..3), l.items(0..400));
        iter.map(|i| (l.item(i.id), i)).unzip_into_vecs(&mut left, &mut right);
        (left, right)
    };
    Indexed "cmp" |l, iter| iter.cmp(l.items(0..30));
    Indexed "partial_cmp" |l, iter| iter.partial_cmp(l.items(0..30));
    Indexed "eq" |l, iter| { let others = l.items(0..iter.len()); iter.eq(others) };
    Indexed "ne" |l, iter| { let others = l.items(0..iter.len()); iter.ne(others) };
    Indexed "lt" |l, iter| iter.lt(l.items(0..30));
    Indexed "ge" |l, iter| iter.ge(l.items(0..30));
    Indexed "position_any" |l, iter| iter.position_any(|i| !most(l, &i));
    Indexed "position_first" |l, iter| iter.position_first(|i| !most(l, &i));
    Indexed "position_last" |l, iter| iter.position_last(|i| !most(l, &i));
}

fn used(ledger: &Ledger, item: Item) {
    ledger.reach(Place::End);
    drop(item);
}

fn kept(ledger: &Ledger, item: Item) -> Item {
    ledger.reach(Place::End);
    item
}

/// False for some item in the middle and some later ones.
fn most(ledger: &Ledger, item: &Item) -> bool {
    ledger.reach(Place::End);
    item.id % 64 != 37
}

fn sorted(ledger: &Ledger, item: Item) -> Result<Item, Item> {
    if most(ledger, &item) { Ok(item) } else { Err(item) }
}

fn left_or_right(ledger: &Ledger, item: Item) -> Either<Item, Item> {
    if most(ledger, &item) { Either::Left(item) } else { Either::Right(item) }
}

/// The lesser is dropped before there is a result, because the language forgets a result if a drop after it panics.
fn greater(ledger: &Ledger, a: Item, b: Item) -> Item {
    ledger.reach(Place::End);
    let (lesser, greater) = if a.id < b.id { (a, b) } else { (b, a) };
    drop(lesser);
    greater
}

fn extended<T: Send, C: ParallelExtend<T>>(mut collection: C, iter: impl ParallelIterator<Item = T>) -> C {
    collection.par_extend(iter);
    collection
}

/// A sum that owns an item.
struct Total(#[allow(dead_code, reason = "it is dropped")] Option<Item>);

impl Sum<Item> for Total {
    fn sum<I: Iterator<Item = Item>>(iter: I) -> Self {
        last(iter.map(|item| Total(Some(item))))
    }
}

impl Sum for Total {
    fn sum<I: Iterator<Item = Total>>(iter: I) -> Self {
        last(iter)
    }
}

impl Product<Item> for Total {
    fn product<I: Iterator<Item = Item>>(iter: I) -> Self {
        last(iter.map(|item| Total(Some(item))))
    }
}

impl Product for Total {
    fn product<I: Iterator<Item = Total>>(iter: I) -> Self {
        last(iter)
    }
}

fn last(totals: impl Iterator<Item = Total>) -> Total {
    let mut last = Total(None);
    for total in totals {
        last = total;
    }
    last
}
