//! Rules that only a reader of the sources could check.

use std::collections::BTreeSet;
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

/// All pages, with their path from the root. Records of decisions that were superseded are history, and may name what is gone.
fn pages() -> Vec<(PathBuf, String)> {
    let root = root();
    let mut found = Vec::new();
    files(&root, ".md", &mut found);
    assert!(found.len() > 15, "only {} pages found", found.len());
    let read = |path: PathBuf| {
        (path.strip_prefix(&root).unwrap().to_path_buf(), std::fs::read_to_string(path).unwrap())
    };
    let is_history = |text: &str| text.lines().take(4).any(|line| line.starts_with("Superseded by "));
    found.into_iter().map(read).filter(|(_, text)| !is_history(text)).collect()
}

/// The lines of a page outside of its blocks of code, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    text.lines().enumerate().filter_map(move |(n, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        (!is_code && !is_fence).then_some((n + 1, line))
    })
}

/// Whether the source is a test or a checker's model.
fn is_model(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_string_lossy();
    name.ends_with("tests.rs")
        || name.ends_with("loom.rs")
        || name.ends_with("_model.rs")
        || path.components().any(|c| c.as_os_str() == "tests")
}

fn is_shipped(path: &Path) -> bool {
    path.components().any(|c| c.as_os_str() == "src")
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
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
        let shipped = is_shipped(path)
            && !is_model(path)
            && !path.starts_with("crates/heist-sync")
            && !path.starts_with("crates/heist-cli");
        shipped && !is_comment(line) && line.contains("std::sync::atomic")
    });
    assert!(bad.is_empty(), "use heist_sync::atomic:\n{}", bad.join("\n"));
}

/// Which checker runs is decided in one crate. Attributes say `heist_model`, and models are written for their checker.
#[test]
fn checkers_are_named_in_one_crate() {
    let bad = offenders(|path, line| {
        let names = |checker: &str| {
            let before = |at: usize| line[..at].chars().next_back();
            line.match_indices(checker)
                .any(|(at, _)| !before(at).is_some_and(|c| c.is_alphanumeric() || c == '_'))
        };
        is_shipped(path)
            && !is_model(path)
            && !path.starts_with("crates/heist-sync")
            && !is_comment(line)
            && (names("loom::") || names("shuttle::"))
    });
    assert!(bad.is_empty(), "let heist-sync choose:\n{}", bad.join("\n"));
}

/// What a checker cannot run has a file of its own. Outside of `heist-sync` and the models, what names a checker stands before a `mod` or
/// a `use`, or says that a crate has parts which no model needs.
#[test]
fn checkers_choose_files_and_not_lines() {
    let mut bad = Vec::new();
    for (path, text) in sources() {
        if !is_shipped(&path) || is_model(&path) || path.starts_with("crates/heist-sync") {
            continue;
        }
        let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
        for (n, line) in lines.iter().enumerate() {
            if is_comment(line)
                || !["heist_model", "heist_loom", "heist_shuttle"].iter().any(|cfg| line.contains(cfg))
            {
                continue;
            }
            let chosen = lines[n..].iter().find(|line| !line.starts_with('#')).copied().unwrap_or_default();
            let chosen = chosen.strip_prefix("pub").unwrap_or(chosen);
            let chosen = chosen
                .split_once(") ")
                .map_or(chosen, |(scope, rest)| if scope.starts_with('(') { rest } else { chosen });
            let is_choice = line.starts_with("#[cfg")
                && ["mod ", "use "].iter().any(|word| chosen.trim_start().starts_with(word));
            if !is_choice && *line != "#![cfg_attr(heist_model, allow(dead_code))]" {
                bad.push(format!("{}:{}: {line}", path.display(), n + 1));
            }
        }
    }
    assert!(bad.is_empty(), "let a `mod` choose the file:\n{}", bad.join("\n"));
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

/// Files that a page names between back-ticks, and pages that it links to, are there.
#[test]
fn pages_name_files_that_exist() {
    let root = root();
    let mut all = Vec::new();
    files(&root, "", &mut all);
    let is_there = |name: &str| all.iter().any(|path| path.ends_with(name));
    let mut bad = Vec::new();
    for (page, text) in pages() {
        let dir = root.join(&page).parent().unwrap().to_path_buf();
        for (n, line) in prose(&text) {
            let names_file = |word: &&str| {
                word.ends_with(".rs") && word.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c))
            };
            for name in line.split('`').skip(1).step_by(2).filter(names_file) {
                if !is_there(name) {
                    bad.push(format!("{}:{n}: {name}", page.display()));
                }
            }
            for link in line.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                let file = link.split('#').next().unwrap();
                if file.ends_with(".md") && !file.contains("://") && !dir.join(file).is_file() {
                    bad.push(format!("{}:{n}: {file}", page.display()));
                }
            }
        }
    }
    assert!(bad.is_empty(), "named, but not there:\n{}", bad.join("\n"));
}

/// What a comment cites: the names in `ORDERING(...)`, `LIVENESS(...)` and `INVARIANT(...)`.
fn cited(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    for tag in ["ORDERING(", "LIVENESS(", "INVARIANT("] {
        for rest in line.split(tag).skip(1) {
            let names = rest.split(')').next().unwrap();
            found.extend(names.split(',').map(|name| name.trim().to_string()));
        }
    }
    found
}

/// Names with a prefix, such as `FORK-E5`, wherever they are in a line.
fn edges(line: &str) -> Vec<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let is_edge = |word: &&str| {
        word.split_once("-E").is_some_and(|(protocol, number)| {
            ["FORK", "PERMIT", "DRIVER", "MONITOR", "TICK"].contains(&protocol)
                && number.parse::<u32>().is_ok()
        })
    };
    line.split(|c| !is_part(c)).filter(is_edge).map(String::from).collect()
}

/// A crate, the names that its pages use, and the names in the first cells of their tables.
struct Protocols {
    krate: PathBuf,
    words: BTreeSet<String>,
    rows: BTreeSet<String>,
}

fn protocols() -> Vec<Protocols> {
    let mut found: Vec<Protocols> = Vec::new();
    for (path, text) in pages() {
        let krate: PathBuf = path.components().take(2).collect();
        if !krate.starts_with("crates") {
            continue;
        }
        if found.last().is_none_or(|last| last.krate != krate) {
            found.push(Protocols { krate, words: BTreeSet::new(), rows: BTreeSet::new() });
        }
        let Protocols { words, rows, .. } = found.last_mut().unwrap();
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '\'';
        words.extend(text.split(|c| !is_part(c)).map(String::from));
        let cells = text.lines().filter_map(|line| line.strip_prefix("| ")?.split('|').next());
        rows.extend(cells.flat_map(|cell| cell.split(',')).map(|name| name.trim().to_string()));
    }
    found
}

/// An edge that a comment cites is in a table of a page beside the code, and what is in these tables is cited.
#[test]
fn cited_edges_exist() {
    let protocols = protocols();
    let mut bad = Vec::new();
    let mut used = BTreeSet::new();
    for (path, text) in sources().into_iter().filter(|(path, _)| is_shipped(path)) {
        let krate: PathBuf = path.components().take(2).collect();
        let known = protocols.iter().find(|known| known.krate == krate);
        for (n, line) in text.lines().enumerate().filter(|(_, line)| line.contains("//")) {
            for name in cited(line) {
                if !known.is_some_and(|known| known.words.contains(&name)) {
                    bad.push(format!(
                        "{}:{}: no page of {} knows {name}",
                        path.display(),
                        n + 1,
                        krate.display()
                    ));
                }
                used.insert((krate.clone(), name));
            }
            for name in edges(line) {
                if !known.is_some_and(|known| known.rows.contains(&name)) {
                    bad.push(format!(
                        "{}:{}: no table of {} has {name}",
                        path.display(),
                        n + 1,
                        krate.display()
                    ));
                }
            }
        }
    }
    for known in &protocols {
        let unused = |name: &&String| !used.contains(&(known.krate.clone(), String::from(*name)));
        for name in known.rows.iter().filter(|row| edges(row) == [row.as_str()]).filter(unused) {
            bad.push(format!("{}: no comment cites {name}", known.krate.display()));
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

/// Users depend on `heist`: what the crates behind it show on its pages are examples that a user can copy.
#[test]
fn examples_say_heist() {
    let behind =
        ["heist-async", "heist-fork", "heist-iter", "heist-live", "heist-pool", "heist-tick", "heist-trace"];
    let names = behind.map(|krate| format!("{}::", krate.replace('-', "_")));
    let is_behind =
        |path: &Path| behind.iter().any(|krate| path.starts_with(Path::new("crates").join(krate)));
    let mut bad = Vec::new();
    let mut examples = 0;
    for (path, text) in sources().into_iter().filter(|(path, _)| is_shipped(path)) {
        let mut is_code = false;
        for (n, line) in text.lines().enumerate() {
            let line = line.trim_start();
            let doc = ["///", "//!"].iter().find_map(|mark| line.strip_prefix(mark));
            let attribute = || line.strip_prefix("#[doc").or_else(|| line.strip_prefix("#![doc"));
            let Some(doc) = doc.or_else(attribute) else {
                is_code = false;
                continue;
            };
            if doc.trim_start().starts_with("```") {
                is_code = !is_code;
                examples += usize::from(is_code && is_behind(&path));
            } else if is_code && names.iter().any(|name| doc.contains(name.as_str())) {
                bad.push(format!("{}:{}: {line}", path.display(), n + 1));
            }
        }
    }
    assert!(examples > 300, "only {examples} examples found");
    assert!(bad.is_empty(), "users write `heist::`:\n{}", bad.join("\n"));
}

/// Words that only the author would guess the meaning of. The field has its own.
const METAPHORS: [&str; 12] = [
    "desk", "seat", "bed", "courtesy", "manners", "errand", "gift", "pulse", "hungry", "lie_in", "rouse",
    "forgo",
];

/// The words of a line, and those that its names are made of: `TheirSeat` and `their_seat` are about a seat.
fn words(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    for name in line.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|name| !name.is_empty()) {
        found.push(name.to_lowercase());
        let mut part = String::new();
        for c in name.chars().chain(['_']) {
            if c == '_' || (c.is_uppercase() && part.chars().any(char::is_lowercase)) {
                found.push(std::mem::take(&mut part).to_lowercase());
            }
            if c != '_' {
                part.push(c);
            }
        }
    }
    found
}

#[test]
fn no_household_metaphors() {
    assert_eq!(words("TheirSeat, lie_in"), ["theirseat", "their", "seat", "lie_in", "lie", "in"]);
    let is_bad = |line: &str| words(line).iter().any(|word| METAPHORS.contains(&word.as_str()));
    let mut bad = offenders(|path, line| is_shipped(path) && is_bad(line));
    for (path, text) in pages() {
        let lines = text.lines().enumerate().filter(|(_, line)| is_bad(line));
        bad.extend(lines.map(|(n, line)| format!("{}:{}: {}", path.display(), n + 1, line.trim())));
    }
    assert!(bad.is_empty(), "use the field's words:\n{}", bad.join("\n"));
}

/// The crates in the order of the map, from the top down.
fn layers(map: &str) -> Vec<&str> {
    let lines = map
        .lines()
        .skip_while(|line| *line != "## Crates")
        .skip(1)
        .take_while(|line| !line.starts_with("## "));
    lines
        .filter_map(|line| {
            line.strip_prefix("    ")?.split(' ').next().filter(|name| name.starts_with("heist"))
        })
        .collect()
}

/// Crates depend only on those below them in the map, and sources name only crates that are in it.
#[test]
fn crates_are_as_the_map_says() {
    let root = root();
    let map = std::fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let layers = layers(&map);
    let mut bad = Vec::new();
    for (place, name) in layers.iter().enumerate() {
        let manifest = std::fs::read_to_string(root.join("crates").join(name).join("Cargo.toml")).unwrap();
        let mut is_shipped = false;
        for line in manifest.lines() {
            if line.starts_with('[') {
                is_shipped = line.ends_with("dependencies]") && !line.contains("dev-dependencies");
                continue;
            }
            let dependency = line.split(['.', ' ', '=']).next().unwrap();
            let is_below = |&at: &usize| at > place;
            if is_shipped
                && dependency.starts_with("heist")
                && layers.iter().position(|layer| *layer == dependency).filter(is_below).is_none()
            {
                bad.push(format!("{name} depends on {dependency}, which is not below it"));
            }
        }
    }
    for (path, text) in sources() {
        if !is_shipped(&path) {
            continue;
        }
        for (n, line) in text.lines().enumerate() {
            for (at, _) in line.match_indices("heist_") {
                let name: String =
                    line[at..].chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
                let is_crate = line[at + name.len()..].starts_with("::");
                if is_crate && !layers.contains(&name.replace('_', "-").as_str()) {
                    bad.push(format!("{}:{}: {name} is not in the map", path.display(), n + 1));
                }
            }
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

/// The names that follow `mark` in `text`, such as variables in string literals.
fn names_after<'a>(text: &'a str, mark: &'a str) -> impl Iterator<Item = &'a str> {
    let is_end = |c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    text.split(mark).skip(1).map(move |rest| rest.split(is_end).next().unwrap())
}

/// Every variable that a source reads is on the page, and every one on the page is read.
#[test]
fn variables_are_on_their_page() {
    let page = std::fs::read_to_string(root().join("docs/environment.md")).unwrap();
    let listed: BTreeSet<&str> = names_after(&page, "`HEIST_").collect();
    let sources: Vec<String> = sources().into_iter().map(|(_, text)| text).collect();
    let used: BTreeSet<&str> = sources.iter().flat_map(|text| names_after(text, "\"HEIST_")).collect();
    // Messages may begin with a name, too, and this test has the bare prefix.
    let used: BTreeSet<&str> = used.into_iter().filter(|name| !name.is_empty()).collect();
    assert_eq!(listed, used);
    assert!(listed.len() > 10);
}

/// The README names every feature of the crate that users depend on.
#[test]
fn features_are_in_the_readme() {
    let root = root();
    let manifest = std::fs::read_to_string(root.join("crates/heist/Cargo.toml")).unwrap();
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let lines = manifest.lines().skip_while(|line| *line != "[features]").skip(1);
    let features: Vec<&str> = lines
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split_once(" = ").map(|(name, _)| name))
        .filter(|name| *name != "default")
        .collect();
    assert!(features.contains(&"hyper"));
    for name in features {
        assert!(readme.contains(&format!("| `{name}` |")), "README.md does not name feature {name}");
    }
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
    let mut tests = Vec::new();
    files(&root.join("crates/heist/tests"), ".rs", &mut tests);
    for name in guarantees.split('`').filter(|w| w.ends_with(".rs") && !w.contains('/')) {
        assert!(
            tests.iter().any(|path| path.ends_with(name)),
            "guarantees.md names {name}, which is not there"
        );
    }
}

/// The functions of `text` that are about `name`: the methods in its own `impl` blocks, and functions outside of such blocks whose first
/// parameter is a reference to it. Not those of tests.
fn functions_over(name: &str, text: &str) -> Vec<String> {
    let is_it = |of: &str| of.strip_prefix(name).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric));
    let mut found = Vec::new();
    let mut is_inside = false;
    let lines: Vec<&str> = text.lines().take_while(|line| *line != "mod tests {").collect();
    for (n, line) in lines.iter().enumerate() {
        match line.strip_prefix("impl") {
            Some(of) if !of.contains(" for ") => {
                let of = if of.starts_with('<') { of.split_once("> ").map_or("", |(_, of)| of) } else { of };
                is_inside = is_it(of.trim_start());
            }
            Some(_) => is_inside = false,
            None if line.starts_with('}') => is_inside = false,
            None => {}
        }
        let indent = line.len() - line.trim_start().len();
        let Some((before, rest)) = line.trim_start().split_once("fn ") else { continue };
        let is_function = before.split_whitespace().all(|word| {
            ["const", "unsafe", "async", "extern"].contains(&word)
                || word.starts_with("pub")
                || word == "\"C\""
        });
        let function = rest.split(['(', '<']).next().unwrap_or_default();
        if !is_function || function.is_empty() {
            continue;
        }
        let is_method = indent == 4 && is_inside;
        let is_free = indent == 0 && {
            let signature = lines[n..].iter().take(12).map(|line| line.trim()).collect::<Vec<_>>().join(" ");
            let parameters = signature.split_once("fn ").map_or("", |(_, rest)| &rest[function.len()..]);
            // What is generic may have parentheses of its own, but is not about a type by its name.
            let first = parameters.trim_start_matches(|c| c != '(').trim_start_matches(['(', ' ']);
            let of = first.split_once(": &").map_or("", |(_, of)| of);
            let of = if of.starts_with('\'') { of.split_once(' ').map_or("", |(_, of)| of) } else { of };
            let of = of.trim_start_matches("mut ").trim_start_matches("Std").trim_start_matches("Arc<");
            let is_first = first.find(": &") < first.find([',', ')']).or(Some(first.len()));
            is_first && is_it(of)
        };
        if is_method || is_free {
            found.push(function.into());
        }
    }
    found
}

/// Who owns a field is told from the type that has it. So a type that everything goes through has few methods: what belongs to one part is that
/// part's.
#[test]
fn the_pool_and_the_worker_have_few_methods() {
    const MOST: usize = 30;
    let example = "impl Pool {\n    pub fn a(&self) {\n        fn local() {}\n    }\n}\nimpl Drop for Pool {\n    fn no(&mut self) {}\n}\n\
                   pub(crate) fn b<T>(\n    pool: &Arc<Pool>,\n) {}\nfn no(n: usize, pool: &Pool) {}\nfn c(_: &'a Pool) {}\nmod tests {\n    fn no(pool: &Pool) {}";
    assert_eq!(functions_over("Pool", example), ["a", "b", "c"]);
    for name in ["Pool", "Worker"] {
        let mut found = Vec::new();
        for (path, text) in sources() {
            let is_loom = path.components().any(|c| c.as_os_str() == "loom");
            if path.starts_with("crates/heist-pool/src") && !is_model(&path) && !is_loom {
                let all = functions_over(name, &text).into_iter();
                found.extend(all.map(|function| format!("{}: {function}", path.display())));
            }
        }
        assert!(found.iter().any(|function| function.ends_with(": new")), "{name} is not found any more");
        assert!(
            found.len() <= MOST,
            "{} functions over `{name}`, and {MOST} are enough; give them to the part whose fields they use:\n{}",
            found.len(),
            found.join("\n")
        );
    }
}
