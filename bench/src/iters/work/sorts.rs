//! The library's sorts.

use super::lib::prelude::*;

pub fn unstable<T: Ord + Send>(v: &mut [T]) {
    v.par_sort_unstable();
}

pub fn stable<T: Ord + Send>(v: &mut [T]) {
    v.par_sort();
}
