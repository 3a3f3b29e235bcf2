//! A collection's elements as a vector, for a while.

use std::mem;

/// Holds the elements of a collection in a vector and gives them back, allocation and all, when it is dropped.
#[derive(Debug)]
pub(super) struct LentVec<'a, T, C: From<Vec<T>>> {
    lender: &'a mut C,
    pub(super) vec: Vec<T>,
}

impl<'a, T, C: From<Vec<T>>> LentVec<'a, T, C> {
    /// `into_vec` should keep the allocation.
    pub(super) fn new(lender: &'a mut C, into_vec: impl FnOnce(C) -> Vec<T>) -> Self {
        let collection = mem::replace(lender, C::from(Vec::new()));
        LentVec { lender, vec: into_vec(collection) }
    }
}

impl<T, C: From<Vec<T>>> Drop for LentVec<'_, T, C> {
    fn drop(&mut self) {
        *self.lender = C::from(mem::take(&mut self.vec));
    }
}
