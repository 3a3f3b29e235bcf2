//! In how many ways n queens stand on a board without threatening each other: a loop in a loop for every queen.

use super::lib::prelude::*;

#[inline(never)]
pub fn run(side: &mut usize) -> usize {
    place(*side, &[])
}

/// `queens` are the columns of the queens in the first rows.
fn place(side: usize, queens: &[usize]) -> usize {
    if queens.len() == side {
        return 1;
    }
    (0..side)
        .into_par_iter()
        .filter(|column| is_safe(queens, *column))
        .map(|column| {
            let mut more = queens.to_vec();
            more.push(column);
            place(side, &more)
        })
        .sum()
}

fn is_safe(queens: &[usize], column: usize) -> bool {
    queens.iter().rev().zip(1..).all(|(queen, rows)| *queen != column && queen.abs_diff(column) != rows)
}
