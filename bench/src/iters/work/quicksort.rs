//! Quicksort by `join`.

use super::lib::join;

#[inline(never)]
pub fn run(numbers: &[u64]) -> Vec<u64> {
    let mut sorted = numbers.to_vec();
    sort(&mut sorted);
    sorted
}

fn sort(v: &mut [u64]) {
    if v.len() <= 1 {
        return;
    }
    let middle = partition(v);
    let (left, right) = v.split_at_mut(middle);
    join(|| sort(left), || sort(&mut right[1..]));
}

/// Brings the pivot to where it belongs, and returns that place.
fn partition(v: &mut [u64]) -> usize {
    let last = v.len() - 1;
    v.swap(last / 2, last);
    let pivot = v[last];
    let mut less = 0;
    for i in 0..last {
        let goes_left = v[i] < pivot;
        v.swap(less, i);
        less += usize::from(goes_left);
    }
    v.swap(less, last);
    less
}
