//! `walk_tree` and its kin: a tree that is only known by the children of its nodes.

use super::ParallelIterator;
use super::plumbing::{Folder, UnindexedConsumer, UnindexedProducer, bridge_unindexed};

/// When a node comes.
#[derive(Debug, Clone, Copy)]
enum Order {
    /// Before its children.
    Prefix,
    /// After its children.
    Postfix,
}

/// What is left to visit.
enum Entry<S> {
    /// A node whose children are visited by other entries.
    Node(S),
    /// A node and all below it.
    Tree(S),
}

struct Walk<'b, S, B> {
    /// Last entry first.
    stack: Vec<Entry<S>>,
    children_of: &'b B,
    order: Order,
}

impl<'b, S, B, I> Walk<'b, S, B>
where
    B: Fn(&S) -> I,
    I: IntoIterator<Item = S>,
{
    fn new(root: S, children_of: &'b B, order: Order) -> Self {
        Walk { stack: vec![Entry::Tree(root)], children_of, order }
    }

    /// Puts the entries for `node` and for each of its children in the place of the tree.
    fn open(&mut self, node: S) {
        let children = (self.children_of)(&node).into_iter();
        let (before, after) = match self.order {
            Order::Prefix => (Some(node), None),
            Order::Postfix => (None, Some(node)),
        };
        self.stack.extend(after.map(Entry::Node));
        let first = self.stack.len();
        self.stack.extend(children.map(Entry::Tree));
        self.stack[first..].reverse();
        self.stack.extend(before.map(Entry::Node));
    }
}

/// How far a tree without branches is followed in search of a place to cut.
const OPENED_PER_CUT: usize = 16;

impl<S, B, I> UnindexedProducer for Walk<'_, S, B>
where
    S: Send,
    B: Fn(&S) -> I + Sync,
    I: IntoIterator<Item = S>,
{
    type Item = S;

    fn split(mut self) -> (Self, Option<Self>) {
        let is_tree = |entry: &Entry<S>| matches!(entry, Entry::Tree(_));
        for _ in 0..OPENED_PER_CUT {
            let mut trees =
                self.stack.iter().enumerate().filter(|(_, entry)| is_tree(entry)).map(|(at, _)| at);
            match (trees.next(), trees.next()) {
                (Some(only), None) => {
                    let after = self.stack.split_off(only + 1);
                    let Some(Entry::Tree(node)) = self.stack.pop() else { unreachable!("found above") };
                    self.open(node);
                    self.stack.extend(after);
                }
                _ => break,
            }
        }
        let trees: Vec<usize> = (0..self.stack.len()).filter(|&at| is_tree(&self.stack[at])).collect();
        if trees.len() < 2 {
            return (self, None);
        }
        // The bottom of the stack comes last.
        let front = self.stack.split_off(trees[trees.len() / 2]);
        let front = Walk { stack: front, children_of: self.children_of, order: self.order };
        (front, Some(self))
    }

    fn fold_with<F: Folder<S>>(mut self, mut folder: F) -> F {
        while let Some(entry) = self.stack.pop() {
            match entry {
                Entry::Node(node) => {
                    folder = folder.consume(node);
                    if folder.full() {
                        break;
                    }
                }
                Entry::Tree(node) => self.open(node),
            }
        }
        drop(self);
        folder
    }
}

/// All nodes of a tree, each before its children, siblings in order.
///
/// `children_of` is called once for each node that is visited.
///
/// ```
/// # use heist::prelude::*;
/// use heist::iter::walk_tree_prefix;
/// let nodes = walk_tree_prefix(1u32, |&n| if n < 4 { vec![2 * n, 2 * n + 1] } else { vec![] });
/// assert_eq!(nodes.collect::<Vec<_>>(), [1, 2, 4, 5, 3, 6, 7]);
/// ```
pub fn walk_tree_prefix<S, B, I>(root: S, children_of: B) -> WalkTreePrefix<S, B>
where
    S: Send,
    B: Fn(&S) -> I + Send + Sync,
    I: IntoIterator<Item = S, IntoIter: DoubleEndedIterator>,
{
    WalkTreePrefix { root, children_of }
}

/// What [`walk_tree_prefix`] returns.
///
/// ```
/// # use heist::prelude::*;
/// let leaf = heist::iter::walk_tree_prefix(7, |_| None);
/// assert_eq!(leaf.collect::<Vec<i32>>(), [7]);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Clone)]
pub struct WalkTreePrefix<S, B> {
    root: S,
    children_of: B,
}

impl<S: std::fmt::Debug, B> std::fmt::Debug for WalkTreePrefix<S, B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WalkTreePrefix").field("root", &self.root).finish_non_exhaustive()
    }
}

impl<S, B, I> ParallelIterator for WalkTreePrefix<S, B>
where
    S: Send,
    B: Fn(&S) -> I + Send + Sync,
    I: IntoIterator<Item = S, IntoIter: DoubleEndedIterator>,
{
    type Item = S;
    const IS_UNCOUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<S>>(self, consumer: C) -> C::Result {
        bridge_unindexed(Walk::new(self.root, &self.children_of, Order::Prefix), consumer)
    }
}

/// All nodes of a tree, each after its children, siblings in order.
///
/// `children_of` is called once for each node that is visited.
///
/// ```
/// # use heist::prelude::*;
/// use heist::iter::walk_tree_postfix;
/// let nodes = walk_tree_postfix(1u32, |&n| if n < 4 { vec![2 * n, 2 * n + 1] } else { vec![] });
/// assert_eq!(nodes.collect::<Vec<_>>(), [4, 5, 2, 6, 7, 3, 1]);
/// ```
pub fn walk_tree_postfix<S, B, I>(root: S, children_of: B) -> WalkTreePostfix<S, B>
where
    S: Send,
    B: Fn(&S) -> I + Send + Sync,
    I: IntoIterator<Item = S>,
{
    WalkTreePostfix { root, children_of }
}

/// What [`walk_tree_postfix`] returns.
///
/// ```
/// # use heist::prelude::*;
/// let leaf = heist::iter::walk_tree_postfix(7, |_| None);
/// assert_eq!(leaf.collect::<Vec<i32>>(), [7]);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Clone)]
pub struct WalkTreePostfix<S, B> {
    root: S,
    children_of: B,
}

impl<S: std::fmt::Debug, B> std::fmt::Debug for WalkTreePostfix<S, B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WalkTreePostfix").field("root", &self.root).finish_non_exhaustive()
    }
}

impl<S, B, I> ParallelIterator for WalkTreePostfix<S, B>
where
    S: Send,
    B: Fn(&S) -> I + Send + Sync,
    I: IntoIterator<Item = S>,
{
    type Item = S;
    const IS_UNCOUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<S>>(self, consumer: C) -> C::Result {
        bridge_unindexed(Walk::new(self.root, &self.children_of, Order::Postfix), consumer)
    }
}

/// All nodes of a tree, in an order that is not promised.
///
/// `children_of` is called once for each node that is visited.
///
/// ```
/// # use heist::prelude::*;
/// use heist::iter::walk_tree;
/// let nodes = walk_tree(1u32, |&n| if n < 4 { vec![2 * n, 2 * n + 1] } else { vec![] });
/// assert_eq!(nodes.sum::<u32>(), 28);
/// ```
pub fn walk_tree<S, B, I>(root: S, children_of: B) -> WalkTree<S, B>
where
    S: Send,
    B: Fn(&S) -> I + Send + Sync,
    I: IntoIterator<Item = S, IntoIter: DoubleEndedIterator>,
{
    WalkTree { root, children_of }
}

/// What [`walk_tree`] returns.
///
/// ```
/// # use heist::prelude::*;
/// let leaf = heist::iter::walk_tree(7, |_| None);
/// assert_eq!(leaf.collect::<Vec<i32>>(), [7]);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Clone)]
pub struct WalkTree<S, B> {
    root: S,
    children_of: B,
}

impl<S: std::fmt::Debug, B> std::fmt::Debug for WalkTree<S, B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WalkTree").field("root", &self.root).finish_non_exhaustive()
    }
}

impl<S, B, I> ParallelIterator for WalkTree<S, B>
where
    S: Send,
    B: Fn(&S) -> I + Send + Sync,
    I: IntoIterator<Item = S, IntoIter: DoubleEndedIterator>,
{
    type Item = S;
    const IS_UNCOUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<S>>(self, consumer: C) -> C::Result {
        bridge_unindexed(Walk::new(self.root, &self.children_of, Order::Prefix), consumer)
    }
}
