//! A program that says nothing about the view, run with the variable.

use crate::client::Client;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

const CHILD: &str = "HEIST_TEST_CHILD";

/// What the child does: it uses a pool of three, and ends when its standard input does.
#[test]
fn child() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let pool = heist::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    assert_eq!(pool.join(|| 1, || 2), (1, 2));
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    // At once, with the server's thread where it is.
    std::process::exit(7);
}

fn start(value: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "program::child", "--nocapture"]).env(CHILD, "1").env("HEIST_LIVE", value);
    command.env_remove("HEIST_NUM_THREADS");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

fn first_line(child: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
    line.trim_end().into()
}

#[test]
fn a_variable_is_enough_and_the_program_ends_as_ever() {
    let mut child = start("127.0.0.1:0");
    let line = first_line(&mut child);
    let url = line.strip_prefix("heist: live view at ").unwrap_or_else(|| panic!("{line}"));
    let client = Client::at(url);
    let frame = client.frame();
    // The program's one pool, and nothing of the server's.
    let pools = frame["pools"].as_array().unwrap();
    assert_eq!(pools.len(), 1, "{frame}");
    assert_eq!(pools[0]["workers"].as_array().unwrap().len(), 3);
    assert_eq!(frame["tasks"]["total"], 0);
    assert_eq!(frame["pid"], child.id());
    let mut events = client.events();
    assert_eq!(events.status(), 200);
    events.wait("a frame", |_| true);
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(7));
}

#[test]
fn a_value_that_is_no_address_is_told_and_the_program_runs() {
    for (value, why) in [
        ("yes", "is not an address with a port"),
        ("0.0.0.0:0", "can be reached from other machines"),
        ("127.0.0.1", "for example 127.0.0.1:7878"),
    ] {
        let mut child = start(value);
        let line = first_line(&mut child);
        assert!(line.starts_with("heist: HEIST_LIVE") && line.contains(why), "{line}");
        drop(child.stdin.take());
        assert_eq!(child.wait().unwrap().code(), Some(7));
    }
}
