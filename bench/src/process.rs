//! What the kernel says about this process: CPU time, threads, context switches.

use std::fs;
use std::io;
use std::process::Command;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// CPU time of all threads of this process since it started.
pub fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The number of threads that exist now.
pub fn thread_count() -> usize {
    fs::read_dir("/proc/self/task").expect("/proc/self/task lists the threads of this process").count()
}

/// Context switches summed over threads.
#[derive(Clone, Copy, Default)]
pub struct Switches {
    pub voluntary: u64,
    pub involuntary: u64,
}

impl Switches {
    /// Of all threads that exist now, save those called `except`.
    pub fn now(except: &str) -> Switches {
        let mut sum = Switches::default();
        let tasks =
            fs::read_dir("/proc/self/task").expect("/proc/self/task lists the threads of this process");
        for task in tasks {
            let path = task.expect("an entry of /proc/self/task").path().join("status");
            // A thread may end between the listing and the reading.
            let status = match fs::read_to_string(&path) {
                Ok(status) => status,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => {
                    continue;
                }
                Err(error) => panic!("{}: {error}", path.display()),
            };
            if field(&status, "Name:") != except {
                sum.voluntary += count(&status, "voluntary_ctxt_switches:");
                sum.involuntary += count(&status, "nonvoluntary_ctxt_switches:");
            }
        }
        sum
    }

    /// What was added since `earlier`.
    pub fn since(self, earlier: Switches) -> Switches {
        Switches {
            voluntary: self.voluntary - earlier.voluntary,
            involuntary: self.involuntary - earlier.involuntary,
        }
    }
}

fn field<'a>(status: &'a str, name: &str) -> &'a str {
    let value = status.lines().find_map(|line| line.strip_prefix(name));
    value.unwrap_or_else(|| panic!("/proc/self/task/*/status has no line {name}")).trim()
}

fn count(status: &str, name: &str) -> u64 {
    field(status, name).parse().unwrap_or_else(|error| panic!("{name} in a status file: {error}"))
}

/// Runs this program again with `arguments` and returns what it answered: the threads of the pools in this
/// process cannot disturb what is measured there.
pub fn run_alone<T: DeserializeOwned>(arguments: &[&str]) -> T {
    let program = std::env::current_exe().expect("the kernel knows the path of this program");
    let output = Command::new(program).args(arguments).output().expect("this program can be started again");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{arguments:?} ended with {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{arguments:?} answered {text:?}: {error}"))
}

/// The other end of [`run_alone`].
pub fn answer(value: &impl Serialize) {
    println!("{}", serde_json::to_string(value).expect("plain figures can be written as JSON"));
}
