//! Counts words in all files below some folders: `cargo run --release -p heist --example word_count -- [--seconds N] PATH...`.
//!
//! Files are counted in parallel, and a large one by several threads. Meanwhile another thread tells how far it is; a flag stops the loop between
//! two files; files that cannot be read are listed at the end, and the others count.

use heist::prelude::*;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use std::{fs, io, thread};

type Counts = HashMap<String, u64>;

#[derive(Default)]
struct Progress {
    files: AtomicU64,
    bytes: AtomicU64,
}

/// What came out, of all files or of those that were counted before the flag.
#[derive(Default)]
struct Outcome {
    counts: Counts,
    errors: Vec<(PathBuf, io::Error)>,
}

impl Outcome {
    fn and(mut self, other: Outcome) -> Outcome {
        self.counts = merge(self.counts, other.counts);
        self.errors.extend(other.errors);
        self
    }
}

/// Into the larger of both.
fn merge(a: Counts, b: Counts) -> Counts {
    let (mut all, few) = if a.len() < b.len() { (b, a) } else { (a, b) };
    for (word, n) in few {
        *all.entry(word).or_default() += n;
    }
    all
}

/// By several threads, if they have nothing better to do.
fn count_text(text: &str) -> Counts {
    let add = |mut counts: Counts, word: &str| {
        *counts.entry(word.to_lowercase()).or_default() += 1;
        counts
    };
    let is_separator = |c: char| !c.is_alphanumeric();
    text.par_split(is_separator)
        .filter(|word| !word.is_empty())
        .fold(Counts::new, add)
        .reduce(Counts::new, merge)
}

fn count_file(path: &Path, progress: &Progress) -> io::Result<Counts> {
    // Another thread computes while this one waits for the disk.
    let bytes = heist::blocking(|| fs::read(path))?;
    progress.files.fetch_add(1, Relaxed);
    progress.bytes.fetch_add(bytes.len() as u64, Relaxed);
    Ok(count_text(&String::from_utf8_lossy(&bytes)))
}

/// Counts until `stop` is set.
fn count_files(paths: &[PathBuf], progress: &Progress, stop: &AtomicBool) -> Outcome {
    paths
        .par_iter()
        .take_any_while(|_| !stop.load(Relaxed))
        .map(|path| match count_file(path, progress) {
            Ok(counts) => Outcome { counts, errors: Vec::new() },
            Err(error) => Outcome { counts: Counts::new(), errors: vec![(path.clone(), error)] },
        })
        .reduce(Outcome::default, Outcome::and)
}

/// All files below `path`. What cannot be listed is left to the loop to fail on.
fn files_below(path: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(path) else { return vec![path.to_path_buf()] };
    let entries: Vec<PathBuf> =
        entries.flatten().filter(|e| !e.path().is_symlink()).map(|e| e.path()).collect();
    entries.par_iter().flat_map_iter(|path| files_below(path)).collect()
}

/// The words that are there most often, first.
fn top(counts: &Counts, n: usize) -> Vec<(&str, u64)> {
    let mut words: Vec<(&str, u64)> = counts.iter().map(|(word, n)| (word.as_str(), *n)).collect();
    words.par_sort_unstable_by_key(|&(word, n)| (std::cmp::Reverse(n), word));
    words.truncate(n);
    words
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).peekable();
    let mut limit = None;
    if arguments.next_if_eq("--seconds").is_some() {
        limit = arguments.next().and_then(|n| n.parse().ok()).map(Duration::from_secs_f64);
    }
    let roots: Vec<String> = arguments.collect();
    let paths: Vec<PathBuf> = roots.par_iter().flat_map_iter(|root| files_below(Path::new(root))).collect();
    let (progress, stop, is_over) = (Progress::default(), AtomicBool::new(false), AtomicBool::new(false));
    let outcome = thread::scope(|threads| {
        threads.spawn(|| {
            let begun = std::time::Instant::now();
            while !is_over.load(Relaxed) {
                thread::park_timeout(Duration::from_millis(100));
                let (files, bytes) = (progress.files.load(Relaxed), progress.bytes.load(Relaxed));
                eprint!("\r{files} of {} files, {} MB", paths.len(), bytes / 1_000_000);
                stop.fetch_or(limit.is_some_and(|limit| begun.elapsed() >= limit), Relaxed);
            }
            eprintln!();
        });
        let outcome = count_files(&paths, &progress, &stop);
        is_over.store(true, Relaxed);
        outcome
    });
    for (word, n) in top(&outcome.counts, 20) {
        println!("{n:10} {word}");
    }
    for (path, error) in &outcome.errors {
        eprintln!("{}: {error}", path.display());
    }
    if stop.into_inner() {
        eprintln!("stopped early");
    }
    if outcome.errors.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that goes with it.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("heist-{name}-{}", std::process::id()));
            fs::create_dir_all(path.join("inner")).unwrap();
            Folder(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    #[test]
    fn all_files_count_and_errors_are_listed() {
        let folder = Folder::new("word-count");
        for n in 0..50 {
            fs::write(folder.0.join(format!("inner/{n}.txt")), "The cat, the dog.\n".repeat(100)).unwrap();
        }
        let mut paths = files_below(&folder.0);
        assert_eq!(paths.len(), 50);
        paths.push(folder.0.join("missing"));
        let (progress, stop) = (Progress::default(), AtomicBool::new(false));
        let outcome = count_files(&paths, &progress, &stop);
        assert_eq!(top(&outcome.counts, 2), [("the", 10_000), ("cat", 5_000)]);
        assert_eq!((outcome.errors.len(), outcome.errors[0].1.kind()), (1, io::ErrorKind::NotFound));
        assert_eq!((progress.files.into_inner(), progress.bytes.into_inner()), (50, 50 * 1800));
    }

    #[test]
    fn a_flag_stops_it() {
        let folder = Folder::new("word-count-stopped");
        let path = folder.0.join("one");
        fs::write(&path, "one").unwrap();
        let (progress, stop) = (Progress::default(), AtomicBool::new(true));
        let outcome = count_files(&vec![path; 1000], &progress, &stop);
        assert!(outcome.counts.is_empty() && outcome.errors.is_empty());
    }
}
