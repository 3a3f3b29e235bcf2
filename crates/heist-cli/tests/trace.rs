//! `heist trace`, as its users call it.

use heist::trace::{Event, Kind, Trace};
use std::path::PathBuf;
use std::process::{Command, Output};

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("heist-cli-{}-{name}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        Self(path)
    }

    fn with(name: &str, content: &[u8]) -> Self {
        let file = Self::new(name);
        std::fs::write(&file.0, content).unwrap();
        file
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn heist(arguments: &[&std::ffi::OsStr]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_heist"))
        .arg("trace")
        .args(arguments)
        .env("NO_COLOR", "1")
        .output()
        .unwrap()
}

fn some_trace() -> Trace {
    let at = |at_ns, kind, arg| Event { at_ns, kind, thread: 0, worker: Some(0), arg };
    Trace::builder()
        .thread(0, "worker")
        .name(1, "parse")
        .events([at(0, Kind::Name, 1), at(0, Kind::PollStart, 5), at(2_000_000, Kind::PollEnd, 5)])
        .finish()
}

#[test]
fn both_forms_have_the_same_summary_and_one_becomes_the_other() {
    let (mut binary, mut json) = (Vec::new(), Vec::new());
    some_trace().write_binary(&mut binary).unwrap();
    some_trace().write_chrome(&mut json).unwrap();
    let (binary, json) = (Scratch::with("a.heist", &binary), Scratch::with("a.json", &json));
    let summary = |file: &Scratch| {
        let output = heist(&[file.0.as_os_str()]);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(summary(&binary), summary(&json));
    assert!(summary(&json).contains("parse") && summary(&json).contains("2.0 ms"), "{}", summary(&json));
    let converted = Scratch::new("b.json");
    let output = heist(&[binary.0.as_os_str(), "--convert".as_ref(), converted.0.as_os_str()]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(summary(&converted), summary(&json));
    let output = heist(&[json.0.as_os_str(), "--json".as_ref()]);
    let parsed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(parsed["took_us"], 2000.0);
}

#[test]
fn what_is_no_trace_is_told_and_nothing_is_left_behind() {
    let fails = |arguments: &[&std::ffi::OsStr], why: &str| {
        let output = heist(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(why), "{said}");
    };
    fails(&["/there/is/no/such/file".as_ref()], "No such file");
    fails(&[Scratch::with("empty", b"").0.as_os_str()], "");
    let text = Scratch::with("text", b"hello\n");
    fails(&[text.0.as_os_str()], "it is no trace");
    let half = {
        let mut binary = Vec::new();
        some_trace().write_binary(&mut binary).unwrap();
        Scratch::with("half.heist", &binary[..binary.len() - 3])
    };
    fails(&[half.0.as_os_str()], "not written to its end");
    let out = Scratch::new("half.json");
    fails(&[half.0.as_os_str(), "--convert".as_ref(), out.0.as_os_str()], "not written to its end");
    assert!(!out.0.exists());
    fails(&[text.0.as_os_str(), "--convert".as_ref(), out.0.as_os_str()], "no binary trace");
}

#[test]
fn a_file_without_its_end_is_summed_up() {
    let mut json = Vec::new();
    some_trace().write_chrome(&mut json).unwrap();
    let text = String::from_utf8(json).unwrap();
    // As a program leaves it that is killed in the middle of an item.
    let cut = &text[..text.rfind("\"ph\":\"E\"").unwrap()];
    let file = Scratch::with("cut.json", cut.as_bytes());
    let output = heist(&[file.0.as_os_str()]);
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("parse"));
}

#[test]
fn both_forms_become_the_same_page_and_never_over_a_file() {
    let (mut binary, mut json) = (Vec::new(), Vec::new());
    some_trace().write_binary(&mut binary).unwrap();
    some_trace().write_chrome(&mut json).unwrap();
    let inputs = [Scratch::with("page.heist", &binary), Scratch::with("page.json", &json)];
    let pages = inputs.map(|input| {
        let page = Scratch::new(&format!("{}.html", input.0.extension().unwrap().display()));
        let convert = || heist(&[input.0.as_os_str(), "--convert".as_ref(), page.0.as_os_str()]);
        let output = convert();
        assert!(output.status.success(), "{output:?}");
        let text = std::fs::read_to_string(&page.0).unwrap();
        assert!(!convert().status.success(), "it was written over");
        text
    });
    assert_eq!(pages[0], pages[1]);
    assert!(pages[0].starts_with("<!doctype html>") && pages[0].contains("\"runs\":\"parse\""));
}
