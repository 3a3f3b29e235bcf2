//! Merge sort by `join`.

use super::lib::join;

/// Sorted by insertion.
const LEAF: usize = 16;

#[inline(never)]
pub fn run(numbers: &[u64]) -> Vec<u64> {
    let mut sorted = numbers.to_vec();
    let mut space = numbers.to_vec();
    sort(&mut sorted, &mut space);
    sorted
}

/// Sorts `v`; `space` is as long.
fn sort(v: &mut [u64], space: &mut [u64]) {
    if v.len() <= LEAF {
        return insertion_sort(v);
    }
    let middle = v.len() / 2;
    {
        let (left, right) = v.split_at_mut(middle);
        let (left_space, right_space) = space.split_at_mut(middle);
        join(|| sort(left, left_space), || sort(right, right_space));
    }
    merge(&v[..middle], &v[middle..], space);
    v.copy_from_slice(space);
}

fn insertion_sort(v: &mut [u64]) {
    for end in 1..v.len() {
        let mut at = end;
        while at > 0 && v[at - 1] > v[at] {
            v.swap(at - 1, at);
            at -= 1;
        }
    }
}

fn merge<'a>(mut left: &'a [u64], mut right: &'a [u64], out: &mut [u64]) {
    for out in out {
        let from = match (left, right) {
            ([l, ..], [r, ..]) if r < l => &mut right,
            ([], _) => &mut right,
            _ => &mut left,
        };
        *out = from[0];
        *from = &from[1..];
    }
}
