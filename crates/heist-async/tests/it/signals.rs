//! Real signals, in processes of their own.

use crate::rig::child::{case, child, ends_well};
use crate::rig::watchdog::watch;
use heist_async::block_on;
use heist_async::signal::ctrl_c;
use heist_async::signal::unix::{Signal, SignalKind, signal};
use heist_async::task::spawn;
use heist_async::time::{Duration, sleep, timeout};
use std::io::{BufRead, BufReader, ErrorKind};
use std::process::{Command, Stdio};

/// Sends the signal to this process.
fn raise(kind: SignalKind) {
    let arguments = [format!("-{}", kind.as_raw()), std::process::id().to_string()];
    assert!(Command::new("kill").args(arguments).status().unwrap().success());
}

async fn is_quiet(signal: &mut Signal) -> bool {
    timeout(Duration::from_millis(20), signal.recv()).await.is_err()
}

/// Runs `body` in a process that only this test is in.
macro_rules! in_own_process {
    ($name:ident, $body:block) => {
        #[test]
        fn $name() {
            let _watch = watch!();
            if case().is_none() {
                ends_well(&mut child(module_path!(), stringify!($name), "inside"));
            } else {
                $body
            }
        }
    };
}

in_own_process!(ctrl_c_ends_a_wait_and_not_the_process, {
    block_on(async {
        // Caught from the call on, before anybody polls.
        let first = ctrl_c();
        raise(SignalKind::interrupt());
        first.await.unwrap();
        let waiting = spawn(ctrl_c());
        sleep(Duration::from_millis(5)).await;
        raise(SignalKind::interrupt());
        waiting.await.unwrap().unwrap();
        // Nobody waits, and still the process goes on.
        raise(SignalKind::interrupt());
    });
});

in_own_process!(every_signal_object_gets_to_know, {
    block_on(async {
        let kind = SignalKind::user_defined1();
        let (mut one, mut other) = (signal(kind).unwrap(), signal(kind).unwrap());
        let mut hangup = signal(SignalKind::hangup()).unwrap();
        for _ in 0..3 {
            raise(kind);
            one.recv().await.unwrap();
            other.recv().await.unwrap();
        }
        assert!(is_quiet(&mut one).await && is_quiet(&mut hangup).await);
        drop(one);
        raise(kind);
        other.recv().await.unwrap();
    });
});

// Far more than a socket takes: what does not fit is dropped, and nobody blocks in a handler.
in_own_process!(signals_that_nobody_takes_are_one, {
    let kind = SignalKind::user_defined2();
    let mut caught = signal(kind).unwrap();
    for _ in 0..2000 {
        signal_hook::low_level::raise(kind.as_raw()).unwrap();
    }
    block_on(async {
        caught.recv().await.unwrap();
        while !is_quiet(&mut caught).await {}
        raise(kind);
        caught.recv().await.unwrap();
    });
});

in_own_process!(a_signal_to_a_forked_child_is_not_its_parents, {
    let mut user = signal(SignalKind::user_defined1()).unwrap();
    // Starts the pool's threads.
    assert!(block_on(is_quiet(&mut user)));
    // SAFETY: that a program may fork on any thread is what is tested.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let is_well = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            raise(SignalKind::user_defined1());
            let error = block_on(user.recv()).unwrap_err();
            assert!(error.to_string().contains("fork()"), "{error}");
            drop(user);
            let mut own = signal(SignalKind::user_defined1()).unwrap();
            raise(SignalKind::user_defined1());
            block_on(own.recv()).unwrap();
        }));
        // SAFETY: a number.
        unsafe { libc::_exit(i32::from(is_well.is_err())) };
    }
    let mut status = 0;
    // SAFETY: it writes a number.
    assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
    assert_eq!(status, 0);
    assert!(block_on(is_quiet(&mut user)), "it was the child's");
    raise(SignalKind::user_defined1());
    block_on(user.recv()).unwrap();
});

#[test]
fn what_cannot_be_caught_is_an_error() {
    for number in [9, 19, 11] {
        let error = signal(SignalKind::from_raw(number)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    }
    assert!(signal(SignalKind::from_raw(4000)).is_err());
}

/// From outside, as a terminal and a service manager do it: this process ends by itself, with the work done.
#[test]
fn a_server_is_stopped_from_outside() {
    let _watch = watch!();
    if case().is_some() {
        return block_on(async {
            let mut terminate = signal(SignalKind::terminate()).unwrap();
            println!("\nready");
            terminate.recv().await.unwrap();
            println!("\nended in peace");
        });
    }
    let mut server = child(module_path!(), "a_server_is_stopped_from_outside", "inside")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line == "ready"));
    let killed = Command::new("kill").args(["-TERM", &server.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert!(lines.any(|line| line == "ended in peace"));
    assert!(lines.count() > 0 && server.wait().unwrap().success());
}
