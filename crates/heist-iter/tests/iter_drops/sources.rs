//! Everything that owns items.

use crate::erased::{IndexedLoop, Loop};
use crate::ledger::{Item, Ledger, Place};
use heist_iter::iter::{self, Either};
use heist_iter::prelude::*;
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::hash::BuildHasherDefault;
use std::sync::Arc;

/// What comes out of a source or an adaptor.
pub enum Stream<'c> {
    Any(Loop<'c>),
    Indexed(IndexedLoop<'c>),
}

pub type Borrower<'b> = &'b mut dyn FnMut(Stream<'_>);

pub struct Source {
    pub name: &'static str,
    pub is_indexed: bool,
    /// Makes about as many items as it is told to, and lends them to a closure.
    pub lend: fn(&Arc<Ledger>, usize, Borrower<'_>),
}

/// Always the same order.
pub type Hashing = BuildHasherDefault<DefaultHasher>;

macro_rules! sources {
    ($($name:literal => $kind:ident |$ledger:ident, $len:ident $(, $keep:ident = $kept:tt)?| $make:expr;)*) => {
        pub const SOURCES: &[Source] = &[$(Source {
            name: $name,
            is_indexed: matches!(stringify!($kind).as_bytes(), b"Indexed"),
            lend: |$ledger, $len, then| {
                $(#[allow(unused_mut, unused_parens, reason = "not all are drained")] let mut $keep = $kept;)?
                then(Stream::$kind(sources!(@$kind $make)));
            },
        },)*];
    };
    (@Any $make:expr) => { Loop::new($make) };
    (@Indexed $make:expr) => { IndexedLoop::new($make) };
}

sources! {
    "Vec" => Indexed |l, len| l.items(0..len).into_par_iter();
    "Box<[T]>" => Indexed |l, len| l.items(0..len).into_boxed_slice().into_par_iter();
    "Vec::par_drain(..)" => Indexed |l, len, vec = (l.items(0..len))| vec.par_drain(..);
    "Vec::par_drain(2..)" => Indexed |l, len, vec = (l.items(0..len + 2))| vec.par_drain(2..);
    "Vec::par_drain(1..n)" => Indexed |l, len, vec = (l.items(0..len + 3))| vec.par_drain(1..=len);
    "[T; 7]" => Indexed |l, len| <[Item; 7]>::try_from(l.items(len..len + 7)).ok().unwrap().into_par_iter();
    "VecDeque" => Indexed |l, len| turned(l, len).into_par_iter();
    "VecDeque::par_drain" => Indexed |l, len, queue = (turned(l, len + 2))| queue.par_drain(1..=len);
    "BinaryHeap" => Indexed |l, len| BinaryHeap::from(l.items(0..len)).into_par_iter();
    "BinaryHeap::par_drain" => Indexed |l, len, heap = (BinaryHeap::from(l.items(0..len)))| heap.par_drain();
    "LinkedList" => Any |l, len| LinkedList::from_iter(l.items(0..len)).into_par_iter();
    "BTreeSet" => Any |l, len| BTreeSet::from_iter(l.items(0..len)).into_par_iter();
    "BTreeMap" => Any |l, len| {
        BTreeMap::from_iter(l.items(0..len).into_iter().enumerate()).into_par_iter().map(|(_, item)| item)
    };
    "HashSet" => Any |l, len| HashSet::<_, Hashing>::from_iter(l.items(0..len)).into_par_iter();
    "HashSet::par_drain" => Any |l, len, set = (HashSet::<_, Hashing>::from_iter(l.items(0..len)))| set.par_drain();
    "HashMap" => Any |l, len| {
        let map = HashMap::<_, _, Hashing>::from_iter(l.items(0..len).into_iter().zip(l.items(0..len)));
        map.into_par_iter().map(|(key, value)| {
            drop(value);
            key
        })
    };
    "HashMap::par_drain" => Any |l, len, map = (HashMap::<_, _, Hashing>::from_iter(l.items(0..len).into_iter().enumerate()))| {
        map.par_drain().map(|(_, item)| item)
    };
    "Some" => Indexed |l, len| Some(l.item(len)).into_par_iter();
    "Ok" => Indexed |l, len| Ok::<_, Item>(l.item(len)).into_par_iter();
    "Err" => Indexed |l, len| Err::<Item, _>(l.item(len)).into_par_iter();
    "once" => Indexed |l, len| iter::once(l.item(len));
    "empty" => Indexed |_l, _len| iter::empty();
    "repeat_n" => Indexed |l, len| iter::repeat_n(l.item(len), len);
    "repeat.take" => Indexed |l, len| iter::repeat(l.item(len)).take(len);
    "repeat.take_any" => Any |l, len| iter::repeat(l.item(len)).take_any(len);
    "range.map" => Indexed |l, len| (0..len).into_par_iter().map(|id| made(l, id));
    "u64 range.map" => Any |l, len| (0..len as u64).into_par_iter().map(|id| made(l, id as usize));
    "chars.map" => Any |l, len, text = ("ä".repeat(len))| text.par_chars().map(|_| made(l, len));
    "slice.cloned" => Indexed |l, len, vec = (l.items(0..len))| vec.par_iter().cloned();
    "slice.copied" => Indexed |l, len, vec = (Vec::from_iter(0..len))| vec.par_iter().copied().map(|id| made(l, id));
    "par_bridge" => Any |l, len| l.items(0..len).into_iter().inspect(|_| l.reach(Place::Source)).par_bridge();
    "split" => Any |l, len| {
        iter::split(l.items(0..len), |mut items| {
            l.reach(Place::Source);
            let far = (items.len() > 1).then(|| items.split_off(items.len() / 2));
            (items, far)
        })
        .flatten_iter()
    };
    "walk_tree_prefix" => Any |l, len| iter::walk_tree_prefix(l.item(1), |node| children(l, node, len));
    "walk_tree_postfix" => Any |l, len| iter::walk_tree_postfix(l.item(1), |node| children(l, node, len));
    "walk_tree" => Any |l, len| iter::walk_tree(l.item(1), |node| children(l, node, len));
    "Vec.chain" => Indexed |l, len| l.items(0..len / 3).into_par_iter().chain(l.items(len / 3..len));
    "Either" => Indexed |l, len| {
        let items = l.items(0..len);
        if len.is_multiple_of(2) { Either::Left(items.into_par_iter()) } else { Either::Right(VecDeque::from(items).into_par_iter()) }
    };
    "(Vec, Vec, array)" => Indexed |l, len| {
        let array = <[Item; 3]>::try_from(l.items(0..3)).ok().unwrap();
        (l.items(0..len), l.items(len..2 * len), array).into_par_iter().map(|(item, second, third)| {
            drop((second, third));
            item
        })
    };
}

/// A queue that wraps around the end of its buffer.
fn turned(ledger: &Arc<Ledger>, len: usize) -> VecDeque<Item> {
    let mut queue = VecDeque::from(ledger.items(0..len));
    queue.rotate_left(len / 3);
    queue
}

fn made(ledger: &Arc<Ledger>, id: usize) -> Item {
    ledger.reach(Place::Source);
    ledger.item(id)
}

/// The binary tree of the numbers from 1 to `len`.
fn children(ledger: &Arc<Ledger>, node: &Item, len: usize) -> Vec<Item> {
    (2 * node.id..=2 * node.id + 1).filter(|id| *id <= len).map(|id| made(ledger, id)).collect()
}
