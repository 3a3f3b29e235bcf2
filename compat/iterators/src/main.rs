//! Counts words in maps of crates that know only rayon.

use hashbrown::HashMap;
use indexmap::IndexMap;
use rayon::prelude::*;

/// How often each word is in `text`, by word.
fn count(text: &str) -> IndexMap<&str, usize> {
    let counts: HashMap<&str, usize> = text
        .par_split_whitespace()
        .fold(HashMap::new, |mut counts, word| {
            *counts.entry(word).or_insert(0) += 1;
            counts
        })
        .reduce(HashMap::new, |mut all, part| {
            part.into_iter().for_each(|(word, n)| *all.entry(word).or_insert(0) += n);
            all
        });
    let mut ordered: IndexMap<&str, usize> = counts.into_par_iter().collect();
    ordered.par_sort_by(|a, _, b, _| a.cmp(b));
    ordered
}

fn main() {
    println!("{:?}", count("the cat and the dog and the bird"));
}
