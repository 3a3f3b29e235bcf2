//! Runs tests of the calling binary once more with `HEIST_FENCED=1`, where pops are fenced and nothing relies on `membarrier`.

use std::process::Command;

/// Runs the tests whose names contain one of `filters` in a process in fenced mode, and expects them to pass.
pub fn rerun_fenced(filters: &[&str]) {
    if std::env::var_os("HEIST_FENCED").is_some() {
        return;
    }
    let exe = std::env::current_exe().expect("the test's own path");
    let output = Command::new(exe)
        .args(filters)
        .env("HEIST_FENCED", "1")
        .output()
        .expect("the test binary can be run again");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "in fenced mode: {}\n{text}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(!text.contains("running 0 tests"), "no test matches {filters:?}");
}
