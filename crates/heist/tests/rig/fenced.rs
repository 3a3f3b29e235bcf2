//! Runs tests of the calling binary once more with `HEIST_FENCED=1`, where pops are fenced and nothing relies on `membarrier`.

use crate::rig::child::test_name;
use std::process::Command;

/// Runs the tests of `module`, a `module_path!()`, whose names contain one of `filters` in a process in fenced mode, and expects them
/// to pass.
pub fn rerun_fenced(module: &str, filters: &[&str]) {
    if std::env::var_os("HEIST_FENCED").is_some() {
        return;
    }
    let exe = std::env::current_exe().expect("the test's own path");
    let run = |args: &[&str]| {
        let output = Command::new(&exe)
            .args(args)
            .env("HEIST_FENCED", "1")
            .output()
            .expect("the test binary can be run again");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "in fenced mode: {}\n{text}\n{stderr}", output.status);
        text
    };
    let all = run(&["--list"]);
    let prefix = test_name(module, "");
    let names = all.lines().filter_map(|line| line.strip_suffix(": test"));
    let is_wanted = |name: &&str| {
        name.strip_prefix(&prefix).is_some_and(|name| filters.iter().any(|filter| name.contains(filter)))
    };
    let wanted: Vec<&str> = names.filter(is_wanted).collect();
    for filter in filters {
        assert!(wanted.iter().any(|name| name.contains(filter)), "no test of {module} matches {filter}");
    }
    run(&[&["--exact"], &*wanted].concat());
}
