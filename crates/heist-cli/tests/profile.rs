//! `heist profile`, as a shell runs it. The program that it profiles is this one again.

use heist::prelude::*;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const CASE: &str = "HEIST_TEST_CHILD";

fn sum(v: &[u64]) -> u64 {
    if v.len() <= 20_000 {
        return v.iter().map(|n| n.wrapping_mul(*n) >> 3).sum();
    }
    let (left, right) = v.split_at(v.len() / 2);
    let (a, b) = heist::join(|| sum(left), || sum(right));
    a.wrapping_add(b)
}

/// What the profiled program does. Nothing, as a test.
#[test]
fn program() {
    let Ok(case) = std::env::var(CASE) else { return };
    if case != "no heist" {
        let _summing = heist::profile::region("sum");
        std::hint::black_box(sum(&(0..400_000).collect::<Vec<_>>()));
    }
    if case == "works" {
        let yields = heist::task::spawn(async {
            for _ in 0..4 {
                heist::task::yield_now().await;
            }
        });
        heist::block_on(yields).unwrap();
        let numbers = (0..400_000_usize).into_par_iter().with_max_len(10_000);
        std::hint::black_box(numbers.map(|n| n.leading_zeros() ^ 7).max());
    }
    match case.as_str() {
        "dies" => std::process::abort(),
        "fails" => std::process::exit(3),
        _ => println!("the program's own words"),
    }
}

fn profile(arguments: &[&str], case: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heist"));
    command.arg("profile").args(arguments).env(CASE, case).env_remove("HEIST_PROFILE");
    if !case.is_empty() {
        command.arg("--").arg(std::env::current_exe().unwrap()).args(["--exact", "program", "--nocapture"]);
    }
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

#[cfg(target_os = "linux")]
#[test]
fn a_program_that_uses_heist_is_measured() {
    let [json, svg, saved] = ["p.json", "p.svg", "p.profile"].map(scratch);
    let files = [&json, &svg, &saved].map(|file| file.to_str().unwrap());
    let Output { status, stdout, stderr } =
        profile(&["--json", files[0], "--svg", files[1], "--save", files[2]], "works");
    let (stdout, stderr) = (text(&stdout), text(&stderr));
    assert!(status.success(), "{stderr}");
    assert!(stdout.contains("the program's own words") && !stdout.contains("parallelism"), "{stdout}");
    for word in ["parallelism", "outside of heist", "speed-up at least", "forked"] {
        assert!(stderr.contains(word), "no {word}: {stderr}");
    }
    let told: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    let sites = told["sites"].as_array().unwrap();
    let name = |site: &Value| site["name"].as_str().unwrap().to_string();
    let sum = sites.iter().find(|site| site["forks"] == 31).unwrap();
    assert!(name(sum).contains("sum, closure 2") || name(sum).contains("call"), "{}", name(sum));
    assert!(sites.iter().any(|site| name(site).starts_with("a loop")), "{sites:?}");
    assert_eq!(told["polls"]["self_wakes"], 4);
    for key in ["mean_ns", "p50_ns", "p99_ns", "longest_ns"] {
        assert!(told["polls"]["waited"][key].as_u64().unwrap() > 0, "{key}");
    }
    assert!(stderr.contains("4 of them in the middle of a poll of their own"), "{stderr}");
    assert_eq!(told["predictions"].as_array().unwrap().len(), 9);
    assert!(told["work_ns"].as_u64().unwrap() >= told["span_ns"].as_u64().unwrap());
    assert!(std::fs::read_to_string(&svg).unwrap().ends_with("</svg>\n"));
    // What was kept says the same again.
    let again = profile(&["--read", files[2]], "");
    assert!(again.status.success());
    assert_eq!(text(&again.stderr), stderr);
}

#[cfg(target_os = "linux")]
#[test]
fn the_exit_code_is_the_programs() {
    let Output { status, stderr, .. } = profile(&[], "fails");
    assert_eq!(status.code(), Some(3));
    assert!(text(&stderr).contains("parallelism"), "{}", text(&stderr));
}

#[test]
fn programs_that_cannot_be_measured_are_told_why() {
    // By SIGABRT.
    let cases = [("no heist", "does not use heist", 125), ("dies", "was ended by signal", 134)];
    for (case, why, code) in cases {
        let Output { status, stderr, .. } = profile(&[], case);
        assert!(cfg!(not(unix)) || status.code() == Some(code), "{case}: {status}");
        assert!(cfg!(not(unix)) || text(&stderr).contains(why), "{case}: {}", text(&stderr));
    }
    let missing = Command::new(env!("CARGO_BIN_EXE_heist"))
        .args(["profile", "--", "/nonexistent/program"])
        .output()
        .unwrap();
    assert_eq!(missing.status.code(), Some(127));
    assert!(text(&missing.stderr).contains("/nonexistent/program"));
    let strange = scratch("strange.profile");
    std::fs::write(&strange, "something else\n").unwrap();
    let Output { status, stderr, .. } = profile(&["--read", strange.to_str().unwrap()], "");
    assert_eq!(status.code(), Some(125));
    assert!(text(&stderr).contains("not a profile"), "{}", text(&stderr));
}
