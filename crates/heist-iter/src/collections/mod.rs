//! Parallel iterators for the collections of the standard library.
//!
//! What is contiguous in memory (`VecDeque`, `BinaryHeap`) is cut where it lies. Trees, tables and lists give no access
//! to their insides, so what they yield is gathered in a vector first: that takes one sequential pass, which pays when
//! the work on each element is more than that.
//!
//! The iterators are reached by [`into_par_iter`](crate::iter::IntoParallelIterator::into_par_iter),
//! [`par_iter`](crate::iter::IntoParallelRefIterator::par_iter) and
//! [`par_iter_mut`](crate::iter::IntoParallelRefMutIterator::par_iter_mut); their types are rarely named.

mod lent_vec;

pub mod binary_heap;
pub mod btree_map;
pub mod btree_set;
pub mod hash_map;
pub mod hash_set;
pub mod linked_list;
pub mod vec_deque;
