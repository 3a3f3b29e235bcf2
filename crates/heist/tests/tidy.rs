//! Rules that only a reader of the sources could check.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// All files below `dir` with that ending, without build output.
fn files(dir: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "target" && !name.starts_with('.') {
                files(&path, ending, found);
            }
        } else if name.ends_with(ending) {
            found.push(path);
        }
    }
}

fn sources() -> Vec<(PathBuf, String)> {
    let root = root();
    let mut found = Vec::new();
    files(&root.join("crates"), ".rs", &mut found);
    assert!(found.len() > 50, "only {} sources found", found.len());
    found
        .into_iter()
        .map(|path| (path.strip_prefix(&root).unwrap().into(), std::fs::read_to_string(path).unwrap()))
        .collect()
}

/// Lines of a file that break a rule, as `path:line`.
fn offenders(rule: impl Fn(&Path, &str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in sources() {
        for (n, line) in text.lines().enumerate() {
            if rule(&path, line) {
                found.push(format!("{}:{}: {}", path.display(), n + 1, line.trim()));
            }
        }
    }
    found
}

/// The checkers see only what comes through `heist-sync`. Tests and examples may use what they like.
#[test]
fn shared_memory_comes_through_one_door() {
    let bad = offenders(|path, line| {
        let shipped = path.components().any(|c| c.as_os_str() == "src")
            && !path.starts_with("crates/heist-sync")
            && !path.starts_with("crates/heist-cli")
            && !path.to_string_lossy().ends_with("tests.rs")
            && !path.to_string_lossy().ends_with("loom.rs")
            && !path.components().any(|c| c.as_os_str() == "tests");
        let code = line.trim_start();
        shipped && !code.starts_with("//") && code.contains("std::sync::atomic")
    });
    assert!(bad.is_empty(), "use heist_sync::atomic:\n{}", bad.join("\n"));
}

#[test]
fn nothing_is_left_open() {
    let words = ["todo", "unimplemented"].map(|w| format!("{w}!("));
    let marks = ["FIX", "XX", "HA"]
        .iter()
        .zip(["ME", "X", "CK"])
        .map(|(a, b)| format!("{a}{b}:"))
        .collect::<Vec<_>>();
    let bad = offenders(|_, line| words.iter().chain(&marks).any(|w| line.contains(w.as_str())));
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[test]
fn every_unsafe_block_says_why() {
    // clippy checks blocks; this checks that impls are not forgotten.
    let mut bad = Vec::new();
    for (path, text) in sources() {
        let lines: Vec<&str> = text.lines().collect();
        for (n, line) in lines.iter().enumerate() {
            if line.trim_start().starts_with("unsafe impl") {
                let above = lines[n.saturating_sub(4)..n].iter().any(|l| l.contains("SAFETY:"));
                if !above {
                    bad.push(format!("{}:{}", path.display(), n + 1));
                }
            }
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[test]
fn the_map_is_short_and_true() {
    let root = root();
    let map = std::fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    assert!(map.lines().count() < 300);
    let mut named = 0;
    for word in
        map.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).filter(|w| w.starts_with("heist-"))
    {
        assert!(root.join("crates").join(word).is_dir(), "ARCHITECTURE.md names {word}, which is not there");
        named += 1;
    }
    assert!(named > 8);
    for entry in std::fs::read_dir(root.join("crates")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(map.contains(&name), "ARCHITECTURE.md does not name {name}");
    }
    // Every test that a guarantee names exists.
    let guarantees = std::fs::read_to_string(root.join("docs/guarantees.md")).unwrap();
    for name in guarantees.split('`').filter(|w| w.ends_with(".rs") && !w.contains('/')) {
        assert!(
            root.join("crates/heist/tests").join(name).is_file(),
            "guarantees.md names {name}, which is not there"
        );
    }
}
