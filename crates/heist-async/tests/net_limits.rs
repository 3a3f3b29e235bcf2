//! What the system refuses: too many open files, for the reactor and for accepting. In processes of their own, because the
//! limit is the process's.
#![cfg(target_os = "linux")]

#[path = "../../heist/tests/rig/watchdog.rs"]
mod watchdog;

use heist_async::block_on;
use heist_async::net::{TcpListener, TcpStream};
use heist_async::task::spawn;
use heist_async::time::{sleep, timeout};
use std::fs::File;
use std::process::Command;
use std::time::{Duration, Instant};
use watchdog::watch;

/// Runs the ignored test `name` with a limit on open files.
fn in_own_process(name: &str) {
    let exe = std::env::current_exe().unwrap();
    let output = Command::new("sh")
        .args(["-c", "ulimit -n 64 && exec \"$0\" --exact --ignored --nocapture --test-threads=1 \"$1\""])
        .arg(exe)
        .arg(name)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

/// Opens files until the system refuses.
fn use_up() -> Vec<File> {
    let files: Vec<File> = std::iter::repeat_with(|| File::open("/dev/null")).map_while(Result::ok).collect();
    assert!(!files.is_empty() && files.len() < 64, "there is a limit");
    files
}

#[test]
fn without_a_reactor() {
    in_own_process("without_a_reactor_inside");
}

#[test]
#[ignore = "run by without_a_reactor, with a limit on open files"]
fn without_a_reactor_inside() {
    let _watch = watch!();
    // The pool starts before the files run out: it may look at the machine in files of its own.
    block_on(sleep(Duration::from_millis(1)));
    // Somebody waits for this one, without a reactor.
    let far = spawn(sleep(Duration::from_secs(3600)));
    let client = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let files = use_up();
    let error = TcpListener::from_std(client).unwrap_err();
    assert!(error.to_string().contains("reactor"), "{error}");
    assert!(error.to_string().contains("os error 24"), "{error}");
    let error = block_on(TcpListener::bind("127.0.0.1:0")).unwrap_err();
    assert!(error.to_string().contains("127.0.0.1:0"), "{error}");
    // Timers do without.
    let begin = Instant::now();
    block_on(sleep(Duration::from_millis(5)));
    assert!(begin.elapsed() >= Duration::from_millis(5));
    // The wait that began before the reactor was opened sees what comes after.
    drop(files);
    block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        drop(client);
        assert_eq!(server.peek(&mut [0]).await.unwrap(), 0);
    });
    far.abort();
}

#[test]
fn accept_without_a_descriptor() {
    in_own_process("accept_without_a_descriptor_inside");
}

#[test]
#[ignore = "run by accept_without_a_descriptor, with a limit on open files"]
fn accept_without_a_descriptor_inside() {
    let _watch = watch!();
    block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let clients = [(); 2].map(|()| std::net::TcpStream::connect(at).unwrap());
        let files = use_up();
        for _ in 0..3 {
            let error = listener.accept().await.unwrap_err();
            assert_eq!(error.raw_os_error(), Some(24), "{error}");
        }
        // The connections are still queued, although nothing new happens on the listener.
        drop(files);
        for _ in 0..2 {
            listener.accept().await.unwrap();
        }
        // And without one it waits.
        assert!(timeout(Duration::from_millis(10), listener.accept()).await.is_err());
        drop(clients);
    });
}
