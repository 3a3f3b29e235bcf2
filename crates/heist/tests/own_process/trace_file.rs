//! `HEIST_TRACE`: a whole run in a file, whatever becomes of the program.

#![cfg(target_os = "linux")]

use crate::rig::child;
use crate::rig::watchdog::watch;
use serde_json::Value;
use std::fs::Permissions;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A file that goes when the test does.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("heist-{name}-{}.json", std::process::id())))
    }

    /// The items, also if the end of the array is missing.
    fn items(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.0).unwrap();
        let whole = if text.trim_end().ends_with(']') { text } else { format!("{text}]") };
        serde_json::from_str(&whole).unwrap_or_else(|error| {
            let end = whole.char_indices().rev().nth(300).map_or(0, |(at, _)| at);
            panic!("{error}: {} bytes that end with {}", whole.len(), &whole[end..])
        })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn work(name: &str) {
    heist::block_on(heist::task::Builder::new().name(name).spawn(async {
        let _span = heist::trace::span("inside");
        heist::join(|| (), || ());
    }))
    .unwrap();
}

fn count(items: &[Value], phase: &str, name: &str) -> usize {
    items.iter().filter(|item| item["ph"] == phase && item["name"] == name).count()
}

#[test]
fn a_run_is_recorded_to_its_end_with_pools_that_come_and_go() {
    let _watch = watch!();
    if child::case().is_some() {
        drop(heist::trace::span("before any pool"));
        work("first");
        // This one is gone long before the next look.
        let pool = heist::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        heist::block_on(heist::task::Builder::new().name("short").spawn_in(&pool, async {})).unwrap();
        pool.shutdown().unwrap();
        return work("last");
    }
    let file = Scratch::new("run");
    let mut child =
        child::child(module_path!(), "a_run_is_recorded_to_its_end_with_pools_that_come_and_go", "1");
    child::ends_well(child.env("HEIST_TRACE", &file.0));
    let items = file.items();
    for name in ["first", "short", "last"] {
        assert!(count(&items, "B", name) >= 1, "{name} is missing");
    }
    assert_eq!(count(&items, "B", "inside"), 2);
    assert_eq!(count(&items, "B", "before any pool"), 1);
    let begins = items.iter().filter(|item| item["ph"] == "B").count();
    let ends = items.iter().filter(|item| item["ph"] == "E").count();
    assert_eq!(begins, ends, "it was finished");
    let pools = items.iter().filter(|item| item["name"] == "process_name").count();
    assert!(pools >= 2, "{pools}");
}

#[test]
fn a_run_that_is_killed_leaves_a_file_that_opens() {
    let _watch = watch!();
    if child::case().is_some() {
        work("early");
        // Until the file has it: then the parent is told, and kills.
        let path = std::env::var_os("HEIST_TRACE").unwrap();
        while !std::fs::read_to_string(&path).unwrap().contains("early") {
            work("busy");
        }
        println!("\nready");
        loop {
            work("busy");
        }
    }
    let file = Scratch::new("killed");
    let mut child = child::child(module_path!(), "a_run_that_is_killed_leaves_a_file_that_opens", "1");
    let mut child = child.env("HEIST_TRACE", &file.0).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "ready"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(count(&file.items(), "B", "early") >= 1);
}

#[test]
fn a_file_that_cannot_be_written_is_told_and_the_program_goes_on() {
    let _watch = watch!();
    if child::case().is_some() {
        return work("on");
    }
    let mut child =
        child::child(module_path!(), "a_file_that_cannot_be_written_is_told_and_the_program_goes_on", "1");
    let said = child::ends_well(child.env("HEIST_TRACE", "/there/is/no/such/directory/x.json"));
    assert!(said.contains("HEIST_TRACE") && said.contains("Name a file that can be written"), "{said}");
    // Nobody reads this one to its end.
    let mut child =
        child::child(module_path!(), "a_file_that_cannot_be_written_is_told_and_the_program_goes_on", "1");
    let said = child::ends_well(child.env("HEIST_TRACE", "/dev/full"));
    assert!(said.contains("HEIST_TRACE"), "{said}");
}

#[test]
fn a_child_of_a_fork_writes_nothing() {
    let _watch = watch!();
    if child::case().is_some() {
        work("parent");
        // SAFETY: the child uses nothing of the parent's threads, and ends at once.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            work("child");
            // By `exit`, so that whatever waits for the end of the process is asked.
            std::process::exit(0);
        }
        let mut status = 0;
        // SAFETY: it writes one number.
        assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
        assert_eq!(status, 0);
        return work("parent again");
    }
    let file = Scratch::new("fork");
    let mut child = child::child(module_path!(), "a_child_of_a_fork_writes_nothing", "1");
    child::ends_well(child.env("HEIST_TRACE", &file.0));
    let items = file.items();
    assert!(count(&items, "B", "parent") >= 1 && count(&items, "B", "parent again") >= 1);
    assert_eq!(count(&items, "B", "child"), 0);
}

/// Somebody, and somebody else.
const OWNER: u32 = 65_534;
const CALLER: u32 = 12_345;

/// A program that belongs to another user than the one who runs it.
struct Lent(PathBuf);

impl Lent {
    /// Only root can make one.
    fn new() -> std::io::Result<Self> {
        let lent = Self(std::env::temp_dir().join(format!("heist-lent-{}", std::process::id())));
        std::fs::create_dir(&lent.0)?;
        std::fs::set_permissions(&lent.0, Permissions::from_mode(0o777))?;
        std::fs::copy(std::env::current_exe()?, lent.program())?;
        chown(lent.program(), Some(OWNER), Some(OWNER))?;
        Ok(lent)
    }

    fn program(&self) -> PathBuf {
        self.0.join("program")
    }

    /// Runs it as another user, with its owner's rights or without; what it said, and whether it has written each of these files.
    fn run(&self, has_rights: bool, test: &str) -> (String, [bool; 2]) {
        let mode = if has_rights { 0o4755 } else { 0o755 };
        std::fs::set_permissions(self.program(), Permissions::from_mode(mode)).unwrap();
        let files = ["trace.json", "run.profile"].map(|file| self.0.join(file));
        let alike = child::child(module_path!(), test, "1");
        let mut child = Command::new(self.program());
        child.args(alike.get_args());
        for (key, value) in alike.get_envs() {
            child.env(key, value.unwrap_or_default());
        }
        child.env("HEIST_TRACE", &files[0]).env("HEIST_PROFILE", &files[1]);
        let said = child::ends_well(child.uid(CALLER).gid(CALLER).current_dir("/"));
        (said, files.map(|file| std::fs::remove_file(file).is_ok()))
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Whoever runs a program with another user's rights must not get it to write files with these.
#[test]
fn a_program_with_another_users_rights_ignores_the_variables() {
    const NAME: &str = "a_program_with_another_users_rights_ignores_the_variables";
    let _watch = watch!();
    if child::case().is_some() {
        if heist_os::is_privileged() == Some(true) {
            eprintln!("with the rights of another");
        }
        return work("lent");
    }
    // SAFETY: it has no arguments.
    if unsafe { libc::geteuid() } != 0 {
        return println!("skipped: only root can make a program that runs with another user's rights");
    }
    let lent = match Lent::new() {
        Ok(lent) => lent,
        Err(error) => return println!("skipped: no program can be given to another user here: {error}"),
    };
    let (said, has_written) = lent.run(false, NAME);
    assert_eq!(has_written, [true, true], "as anybody's program it writes both: {said}");
    let (said, has_written) = lent.run(true, NAME);
    if !said.contains("with the rights of another") {
        return println!("skipped: this system lends no rights (nosuid, or no_new_privs)");
    }
    assert_eq!(has_written, [false, false], "{said}");
    assert!(said.contains("HEIST_TRACE is ignored") && said.contains("HEIST_PROFILE is ignored"), "{said}");
}
