//! The first item that will do: near the end, or near the beginning.

use super::lib::prelude::*;

#[inline(never)]
pub fn late(numbers: &mut Vec<u64>) -> Option<usize> {
    let wanted = numbers[numbers.len() - 2];
    numbers.par_iter().enumerate().find_first(|(_, number)| **number == wanted).map(|(index, _)| index)
}

#[inline(never)]
pub fn early(numbers: &mut Vec<u64>) -> Option<usize> {
    let wanted = numbers[numbers.len() / 100];
    numbers.par_iter().enumerate().find_first(|(_, number)| **number == wanted).map(|(index, _)| index)
}
