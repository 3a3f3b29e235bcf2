//! By the names of the threads: ndarray's and jwalk's parallel work runs in heist's pool. That is on its workers, or on the thread that
//! called, which is a guest there and has an index meanwhile. rayon's own threads have no names.

use ndarray::Array1;
use ndarray::parallel::prelude::*;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// The names of the threads that came by, and their indices.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<BTreeSet<(String, Option<usize>)>>>);

impl Seen {
    fn here(&self) {
        let name = std::thread::current().name().unwrap_or("unnamed").to_owned();
        self.0.lock().unwrap().insert((name, rayon::current_thread_index()));
    }

    fn are_heists(&self) {
        let seen = self.0.lock().unwrap();
        assert!(!seen.is_empty());
        let is_caller = |name: &str| std::thread::current().name() == Some(name);
        let is_heists = |(name, index): &(String, Option<usize>)| {
            name.starts_with("heist-") || (is_caller(name) && index.is_some())
        };
        assert!(seen.iter().all(is_heists), "{seen:?}");
    }
}

#[test]
fn an_ndarray_is_mapped_in_heists_pool() {
    let (seen, mut array) = (Seen::default(), Array1::from_iter(0..100_000_u64));
    array.par_mapv_inplace(|n| {
        seen.here();
        n * 2
    });
    assert_eq!(array.sum(), 99_999 * 100_000);
    seen.are_heists();
}

#[test]
fn a_directory_is_walked_in_heists_pool() {
    let seen = Seen::default();
    let visitor = seen.clone();
    // jwalk reads the topmost directory on the calling thread, before it hands over.
    let caller = std::thread::current().id();
    let walk = jwalk::WalkDir::new(env!("CARGO_MANIFEST_DIR")).process_read_dir(move |_, _, _, _| {
        if std::thread::current().id() != caller {
            visitor.here();
        }
    });
    let names: Vec<_> = walk.into_iter().map(|entry| entry.unwrap().file_name).collect();
    assert!(names.iter().any(|name| name == "Cargo.toml"));
    seen.are_heists();
}

#[test]
fn rayon_itself_is_the_registrys() {
    let seen = Seen::default();
    let sum: u64 = (0..10_000_u64).into_par_iter().inspect(|_| seen.here()).sum();
    assert_eq!(sum, 49_995_000);
    seen.are_heists();
}
