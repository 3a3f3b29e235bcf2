//! `heist doctor`, as a shell runs it.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "../../heist/tests/rig/filter.rs"]
#[allow(dead_code, reason = "one of its filters is enough here")]
mod filter;

/// The command, in an environment that says nothing.
fn doctor(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heist"));
    let variables = [
        "HEIST_NUM_THREADS",
        "RAYON_NUM_THREADS",
        "RAYON_RS_NUM_CPUS",
        "HEIST_FENCED",
        "HEIST_OS_HINTS",
        "HEIST_TOPOLOGY",
    ];
    for variable in variables.into_iter().chain(["NO_COLOR"]) {
        command.env_remove(variable);
    }
    command.arg("doctor").args(arguments);
    command
}

/// What it says as JSON, and that its exit code is that of its warnings.
#[track_caller]
fn told(command: &mut Command) -> Value {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = String::from_utf8(stdout).unwrap();
    let told: Value = serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("{error}\n{text}\n{}", String::from_utf8_lossy(&stderr)));
    let is_warned = !told["warnings"].as_array().unwrap().is_empty();
    assert_eq!(status.code(), Some(i32::from(is_warned)), "{text}");
    told
}

fn names(told: &Value) -> Vec<&str> {
    told["warnings"].as_array().unwrap().iter().map(|warning| warning["name"].as_str().unwrap()).collect()
}

/// A machine of control groups of version 2 whose process has `cpu_max`.
fn tree(name: &str, cpu_max: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let files = [
        ("proc/self/cgroup", "0::/app\n"),
        ("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
        ("sys/fs/cgroup/app/cpu.max", cpu_max),
    ];
    for (path, text) in files {
        std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        std::fs::write(root.join(path), text).unwrap();
    }
    root
}

fn below(root: &Path) -> Command {
    doctor(&["--json", "--skip-noise", "--root", root.to_str().unwrap()])
}

#[test]
fn a_machine_without_limits_has_no_warnings() {
    let told = told(&mut below(&tree("free", "max 100000\n")));
    assert_eq!(names(&told), [""; 0]);
    assert_eq!(told["by"]["kind"], "affinity");
    assert_eq!(told["by"]["workers"], told["workers"]);
    assert_eq!(told["inputs"][1]["source"], "/sys/fs/cgroup/app/cpu.max");
    assert_eq!(told["inputs"][1]["workers"], Value::Null);
    assert_eq!(told["noise"], Value::Null);
}

#[test]
fn a_quota_below_one_core_is_a_warning() {
    let told = told(&mut below(&tree("half", "50000 100000\n")));
    assert_eq!(told["workers"], 1);
    // Where there is but one CPU, that is reason enough.
    if told["inputs"][0]["workers"] != 1 {
        assert_eq!(told["by"]["source"], "/sys/fs/cgroup/app/cpu.max");
        assert_eq!(told["by"]["raw"], "50000 100000");
    }
    assert_eq!(names(&told), ["quota-below-one-core"]);
}

#[test]
fn what_the_environment_does_is_told() {
    let root = tree("environment", "max 100000\n");
    let variables = [("HEIST_NUM_THREADS", "9000"), ("HEIST_OS_HINTS", "0"), ("HEIST_FENCED", "1")];
    let told = told(below(&root).envs(variables));
    assert_eq!(told["workers"], 9000);
    assert_eq!(told["by"]["source"], "HEIST_NUM_THREADS");
    let told = names(&told);
    assert!(told.contains(&"more-workers-than-cores") && told.contains(&"os-hints-off"), "{told:?}");
    assert_eq!(told.contains(&"membarrier-refused"), cfg!(target_os = "linux"), "{told:?}");
}

/// The variable lowers what a program asks for.
#[test]
fn a_program_that_asks() {
    let root = tree("program", "max 100000\n");
    assert_eq!(told(below(&root).args(["--workers", "3000"]))["by"]["source"], "num_threads");
    let lowered = told(below(&root).args(["--workers", "3000"]).env("HEIST_NUM_THREADS", "1"));
    assert_eq!(lowered["workers"], 1);
    assert_eq!(lowered["by"]["source"], "HEIST_NUM_THREADS");
}

/// The fixture with which the tests of the pool are run.
#[test]
fn nodes_are_told() {
    let two = concat!(env!("CARGO_MANIFEST_DIR"), "/../heist/tests/fixtures/two_nodes");
    let told = told(doctor(&["--json", "--skip-noise"]).env("HEIST_TOPOLOGY", two));
    let nodes = told["topology"]["nodes"].as_array().unwrap();
    assert_eq!(nodes.len(), 2);
    assert_eq!(nodes[1]["number"], 1);
    assert_eq!(nodes[1]["distances"], serde_json::json!([21, 10]));
    assert_eq!(told["topology"]["cpus"], 64);
}

/// What the pool itself does is what it says.
#[test]
fn this_machine() {
    let told = told(&mut doctor(&["--json", "--skip-noise"]));
    let workers = told["workers"].as_u64().unwrap() as usize;
    let variables = ["HEIST_NUM_THREADS", "RAYON_NUM_THREADS", "RAYON_RS_NUM_CPUS"];
    if variables.iter().all(|variable| std::env::var_os(variable).is_none()) {
        let pool = heist::ThreadPoolBuilder::new().build().unwrap();
        assert_eq!(pool.current_num_threads(), workers);
    }
}

/// The measurement: shares are shares, whatever they are here.
#[test]
fn the_host_is_measured_for_a_second() {
    let started = std::time::Instant::now();
    let told = told(&mut doctor(&["--json"]));
    assert!(started.elapsed() >= std::time::Duration::from_secs(1));
    let noise = &told["noise"];
    assert!(noise["threads"].as_u64().unwrap() >= 1);
    for share in ["cpu_share", "steal_share"] {
        match &noise[share] {
            Value::Null => assert!(!cfg!(target_os = "linux") || share == "steal_share", "{noise}"),
            share => assert!((0.0..=1.01).contains(&share.as_f64().unwrap()), "{noise}"),
        }
    }
}

#[test]
fn text_is_plain_where_there_is_no_terminal() {
    for (root, verdict) in
        [(tree("plain", "max 100000"), "Nothing is wrong."), (tree("warned", "1000 100000"), "warning: ")]
    {
        let Output { status, stdout, .. } =
            doctor(&["--skip-noise", "--root", root.to_str().unwrap()]).output().unwrap();
        let text = String::from_utf8(stdout).unwrap();
        assert_eq!(status.success(), verdict.starts_with('N'), "{text}");
        for part in ["A pool would have", "/sys/fs/cgroup/app/cpu.max", "membarrier", verdict] {
            assert!(text.contains(part), "{part:?} is not in: {text}");
        }
        assert!(!text.contains('\x1b'), "{text:?}");
    }
}

/// `script` runs a command with a terminal.
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_has_colours_unless_the_user_wants_none() {
    let root = tree("terminal", "max 100000");
    let line = format!("'{}' doctor --skip-noise --root '{}'", env!("CARGO_BIN_EXE_heist"), root.display());
    for (no_color, has_colours) in [(None, true), (Some(""), true), (Some("1"), false)] {
        let mut script = Command::new("script");
        script.args(["-qec", &line, "/dev/null"]).env_remove("NO_COLOR").stdin(std::process::Stdio::null());
        if let Some(value) = no_color {
            script.env("NO_COLOR", value);
        }
        match script.output() {
            Ok(Output { stdout, .. }) => {
                let text = String::from_utf8(stdout).unwrap();
                assert!(text.contains("A pool would have"), "{text}");
                assert_eq!(text.contains('\x1b'), has_colours, "NO_COLOR {no_color:?}: {text:?}");
            }
            Err(error) => return println!("skipped: no terminal without the command `script`: {error}"),
        }
    }
}

/// No pool has so many workers, so nobody is told that one would.
#[test]
fn more_than_a_pool_can_have_is_an_error() {
    let by_program = doctor(&["--skip-noise", "--workers", "99999999"]).output().unwrap();
    let by_variable = doctor(&["--skip-noise"]).env("HEIST_NUM_THREADS", "99999999").output().unwrap();
    for (output, by) in [(by_program, "--workers"), (by_variable, "HEIST_NUM_THREADS")] {
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(&format!("{by}=99999999 is more than a pool can have")), "{stderr}");
    }
}

#[test]
fn a_wrong_variable_is_an_error_and_no_warning() {
    let Output { status, stdout, stderr } =
        doctor(&["--json", "--skip-noise"]).env("HEIST_NUM_THREADS", "many").output().unwrap();
    assert_eq!(status.code(), Some(2));
    assert!(stdout.is_empty());
    let stderr = String::from_utf8(stderr).unwrap();
    assert!(stderr.contains("HEIST_NUM_THREADS=\"many\"") && stderr.contains("unset it"), "{stderr}");
    assert_eq!(doctor(&["--no-such-flag"]).output().unwrap().status.code(), Some(2));
}

/// A sandbox that forbids two calls.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn calls_that_are_refused_are_named() {
    use std::os::unix::process::CommandExt;
    const CALLS: [u32; 2] = [324, 441];
    const ENOSYS: u32 = 38;
    let mut command = below(&tree("refused", "max 100000"));
    // SAFETY: it asks the kernel for a filter, in a child that has one thread.
    unsafe {
        command.pre_exec(|| {
            filter::refuse(&CALLS, ENOSYS);
            Ok(())
        })
    };
    assert_eq!(names(&told(&mut command)), ["membarrier-refused", "epoll-pwait2-refused"]);
}

/// `heist doctor | head -1` is no failure to tell of.
#[test]
fn whoever_has_read_enough_is_not_told_of_it() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let Output { status, stderr, .. } =
        doctor(&["--skip-noise"]).stdout(writer).stderr(std::process::Stdio::piped()).output().unwrap();
    assert_eq!((status.code(), String::from_utf8(stderr).unwrap().as_str()), (Some(2), ""));
}
