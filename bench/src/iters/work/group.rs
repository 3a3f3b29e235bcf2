//! Items by their remainder.

use std::collections::HashMap;

use super::lib::prelude::*;

const GROUPS: u64 = 97;

#[inline(never)]
pub fn run(numbers: &mut Vec<u64>) -> HashMap<u64, Vec<u64>> {
    numbers
        .par_iter()
        .fold(HashMap::new, |mut groups: HashMap<u64, Vec<u64>>, number| {
            groups.entry(number % GROUPS).or_default().push(*number);
            groups
        })
        .reduce(HashMap::new, |mut left, right| {
            if left.is_empty() {
                return right;
            }
            for (key, members) in right {
                left.entry(key).or_default().extend(members);
            }
            left
        })
}
