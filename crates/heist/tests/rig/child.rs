//! Runs a test of the calling binary alone, in a process of its own: for what changes the whole process, or may end it.

use std::process::{Command, Output};

const CHILD: &str = "HEIST_TEST_CHILD";

/// The case that this process was started for, if it is such a child.
pub fn case() -> Option<String> {
    std::env::var(CHILD).ok()
}

/// What the harness calls the test `name` of the module whose `module_path!()` is `module`.
pub fn test_name(module: &str, name: &str) -> String {
    // The path begins with the crate, which the harness leaves out.
    module.split_once("::").map_or(name.into(), |(_, module)| format!("{module}::{name}"))
}

/// A process that runs only the test `name` of `module`, on its main thread, with `case` to tell it what to do. It is over before the watchdog of
/// the process that waits for it, so that its own message is seen.
pub fn child(module: &str, name: &str, case: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("the test's own path"));
    command.args(["--exact", &test_name(module, name), "--nocapture", "--test-threads=1"]).env(CHILD, case);
    if std::env::var_os("HEIST_WATCHDOG_S").is_none() {
        command.env("HEIST_WATCHDOG_S", "120");
    }
    command
}

/// Runs it and expects that it ends well; what it wrote to its standard error.
pub fn ends_well(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().expect("the test binary can be run again");
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{command:?}\n{status}\n{stdout}\n{stderr}");
    assert!(stdout.contains("1 passed"), "no test has run: {command:?}\n{stdout}");
    stderr.into_owned()
}
