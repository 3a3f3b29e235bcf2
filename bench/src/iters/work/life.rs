//! One generation of Conway's game of life on a board without edges, a row an item.

use super::lib::prelude::*;

#[inline(never)]
pub fn run(side: usize, cells: &[u8], next: &mut [u8]) {
    next.par_chunks_mut(side).enumerate().for_each(|(row, next)| {
        let line = |row: usize| &cells[row * side..][..side];
        let (above, here, below) = (line((row + side - 1) % side), line(row), line((row + 1) % side));
        for (column, cell) in next.iter_mut().enumerate() {
            let (left, right) = ((column + side - 1) % side, (column + 1) % side);
            let columns = |line: &[u8]| line[left] + line[column] + line[right];
            let neighbours = columns(above) + columns(here) + columns(below) - here[column];
            *cell = u8::from(neighbours == 3 || neighbours == 2 && here[column] == 1);
        }
    });
}
