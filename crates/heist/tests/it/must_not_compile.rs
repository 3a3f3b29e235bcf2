//! What must not compile: the types are the first guard of the promises.
//!
//! Each case is compiled against the very library that this test is linked with, and must fail with the error that is named
//! beside it; a case that is right must compile, or the failures would prove nothing.

use crate::rig::watchdog::watch;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The newest library of that name beside this binary.
fn library(deps: &Path) -> PathBuf {
    let is_heist = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libheist-") && name.ends_with(".rlib")
    };
    let modified = |path: &PathBuf| path.metadata().and_then(|m| m.modified()).ok();
    let files =
        std::fs::read_dir(deps).expect("the folder of this binary").map(|entry| entry.unwrap().path());
    files.filter(is_heist).max_by_key(modified).expect("heist was built for this test")
}

/// What the compiler says about `code` as the body of a function.
fn compile(code: &str) -> Result<(), String> {
    let exe = std::env::current_exe().unwrap();
    let deps = exe.parent().unwrap();
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args(["--edition=2024", "--crate-type=lib", "--emit=metadata", "--crate-name=refused", "-"])
        .arg("--extern")
        .arg(format!("heist={}", library(deps).display()))
        .arg("-L")
        .arg(format!("dependency={}", deps.display()))
        .arg("--out-dir")
        .arg(env!("CARGO_TARGET_TMPDIR"))
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the compiler that built this test");
    let source = format!("#![allow(unused)]\npub fn case() {{\n{code}\n}}\n");
    rustc.stdin.take().unwrap().write_all(source.as_bytes()).unwrap();
    let output = rustc.wait_with_output().unwrap();
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

const NOT_SEND: &str = "cannot be sent between threads safely";
const NOT_SYNC: &str = "cannot be shared between threads safely";

#[test]
fn right_code_compiles() {
    let _watch = watch!();
    let code = "
        let mut n = 0;
        heist::fork(|f| f.join(|f| f.join(|_| 1, |_| 2), |_| n += 1));
        heist::scope(|s| s.spawn(|_| n += 1));
        let pool = heist::ThreadPoolBuilder::new().build().unwrap();
        pool.install(|| n += 1);
        heist::in_place_scope(|s| { let rc = std::rc::Rc::new(1); s.spawn(|_| n += 1); drop(rc) });
        // `blocking` runs where it is called.
        let rc = std::rc::Rc::new(1);
        heist::blocking(|| *rc);
        fn shared<T: Send + Sync>() {}
        shared::<heist::ThreadPool>();
        shared::<heist::ThreadPoolBuildError>();
        shared::<heist::Scope<'static>>();
        shared::<heist::ScopeFifo<'static>>();
    ";
    if let Err(message) = compile(code) {
        panic!("{message}");
    }
}

/// What is not `Send` does not get to another thread, by any door.
#[test]
fn closures_that_are_not_send() {
    let _watch = watch!();
    let calls = [
        "heist::join(|| rc.clone(), || ());",
        "heist::join(|| (), || drop(rc.clone()));",
        "heist::join_context(|_| drop(rc.clone()), |_| ());",
        "heist::fork(|f| drop(rc.clone()));",
        "heist::fork(|f| f.join(|_| drop(rc.clone()), |_| ()));",
        "heist::fork(|f| f.join(|_| (), |_| drop(rc.clone())));",
        "heist::scope(|s| s.spawn(|_| drop(rc.clone())));",
        "heist::scope_fifo(|s| s.spawn_fifo(|_| drop(rc.clone())));",
        "heist::in_place_scope(|s| s.spawn(|_| drop(rc.clone())));",
        "heist::spawn(move || drop(rc));",
        "heist::spawn_fifo(move || drop(rc));",
        "heist::ThreadPoolBuilder::new().build().unwrap().install(|| drop(rc.clone()));",
        "heist::ThreadPoolBuilder::new().build().unwrap().fork(|_| drop(rc.clone()));",
        "heist::broadcast(|_| drop(rc.clone()));",
    ];
    for call in calls {
        let message = compile(&format!("let rc = std::rc::Rc::new(1); {call}")).expect_err(call);
        assert!(message.contains(NOT_SEND) || message.contains(NOT_SYNC), "{call}: {message}");
    }
}

/// Results cross threads as well.
#[test]
fn results_that_are_not_send() {
    let _watch = watch!();
    for call in [
        "heist::join(|| std::rc::Rc::new(1), || ());",
        "heist::join(|| (), || std::rc::Rc::new(1));",
        "heist::fork(|f| f.join(|_| (), |_| std::rc::Rc::new(1)));",
        "heist::fork(|_| std::rc::Rc::new(1));",
        "heist::broadcast(|_| std::rc::Rc::new(1));",
        "heist::ThreadPoolBuilder::new().build().unwrap().install(|| std::rc::Rc::new(1));",
    ] {
        let message = compile(call).expect_err(call);
        assert!(message.contains(NOT_SEND), "{call}: {message}");
    }
}

/// A `Fork` stays on its thread, in its call, and in one hand.
#[test]
fn a_fork_stays_where_it_is() {
    let _watch = watch!();
    for (code, error) in [
        ("fn send<T: Send>() {} send::<heist::Fork<'static>>();", NOT_SEND),
        ("fn sync<T: Sync>() {} sync::<heist::Fork<'static>>();", NOT_SYNC),
        ("fn copy<T: Copy>() {} copy::<heist::Fork<'static>>();", "`Copy` is not implemented"),
        ("fn clone<T: Clone>() {} clone::<heist::Fork<'static>>();", "`Clone` is not implemented"),
        // It does not leave the call that made it.
        ("let f = heist::fork(|f| f);", "error"),
        ("let mut kept = None; heist::fork(|f| { kept = Some(f); });", "error"),
        // A half cannot use the fork of the other thread, only its own.
        ("heist::fork(|f| f.join(|_| drop(f.join(|_| (), |_| ())), |_| ()));", NOT_SYNC),
        ("heist::fork(|f| f.join(|_| (), |_| drop(f.join(|_| (), |_| ()))));", NOT_SYNC),
        ("heist::fork(|f| heist::join(|| drop(f.join(|_| (), |_| ())), || ()));", NOT_SYNC),
        ("heist::fork(|f| heist::scope(|s| s.spawn(|_| drop(f.join(|_| (), |_| ())))));", NOT_SYNC),
    ] {
        let message = compile(code).expect_err(code);
        assert!(message.contains(error), "{code}: {message}");
    }
}

/// A job of a scope does not outlive what it borrows; contexts do not leave their call.
#[test]
fn borrows_end() {
    let _watch = watch!();
    for (code, error) in [
        ("heist::scope(|s| { let n = 1; s.spawn(|_| drop(&n)); });", "may outlive"),
        (
            "heist::scope(|s| { let n = 1; let m = &n; s.spawn(move |_| drop(m)); });",
            "does not live long enough",
        ),
        ("let n = 1; heist::spawn(|| drop(&n));", "may outlive"),
        ("let mut n = 1; heist::join(|| n += 1, || n += 1);", "cannot borrow `n` as mutable more than once"),
        (
            "let mut n = 1; heist::fork(|f| f.join(|_| n += 1, |_| n += 1));",
            "cannot borrow `n` as mutable more than once",
        ),
        ("let mut kept = None; heist::scope(|s| kept = Some(s));", "error"),
        ("fn send<T: Send>() {} send::<heist::FnContext>();", NOT_SEND),
        ("fn send<T: Send>() {} send::<heist::BroadcastContext<'static>>();", NOT_SEND),
    ] {
        let message = compile(code).expect_err(code);
        assert!(message.contains(error), "{code}: {message}");
    }
}
