//! What the system refuses: too many open files, for the reactor and for accepting, and system calls that a filter forbids. In
//! processes of their own, because limits and filters are the process's.
#![cfg(target_os = "linux")]

use crate::rig::child;
use crate::rig::watchdog::watch;
use heist_async::block_on;
use heist_async::net::{TcpListener, TcpStream};
use heist_async::task::spawn;
use heist_async::time::{sleep, timeout};
use std::fs::File;
use std::process::Command;
use std::time::{Duration, Instant};

/// Runs the ignored test `name` with a limit on open files.
fn in_own_process(name: &str) {
    let exe = std::env::current_exe().unwrap();
    let output = Command::new("sh")
        .args(["-c", "ulimit -n 64 && exec \"$0\" --exact --ignored --nocapture --test-threads=1 \"$1\""])
        .arg(exe)
        .arg(child::test_name(module_path!(), name))
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
    assert_eq!(error.raw_os_error(), Some(libc::EMFILE), "{error}");
    let error = block_on(TcpListener::bind("127.0.0.1:0")).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EMFILE), "{error}");
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

/// Lets `epoll_pwait2` fail with `errno`, in this thread and those that it starts.
fn forbid_epoll_pwait2(errno: libc::c_int) {
    let step = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let mut steps = [
        // The number of the system call is the first word of what the filter sees.
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, libc::SYS_epoll_pwait2 as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | errno as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: plain numbers.
    let is_bound = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    assert_eq!(is_bound, 0, "{}", std::io::Error::last_os_error());
    // SAFETY: the program and its steps live through the call.
    let is_set = unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) };
    assert_eq!(is_set, 0, "{}", std::io::Error::last_os_error());
}

/// Sockets and timers with an `epoll_pwait2` that fails with `errno`.
fn without_fine_waits(errno: libc::c_int) {
    let _watch = watch!();
    forbid_epoll_pwait2(errno);
    block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let begin = Instant::now();
        // The one thread that waits has a socket and a timer to wait for.
        let accepted = timeout(Duration::from_millis(5), listener.accept()).await;
        assert!(accepted.is_err() && begin.elapsed() >= Duration::from_millis(5));
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        drop(client);
        assert_eq!(server.peek(&mut [0]).await.unwrap(), 0);
    });
}

/// One test for each errno that means "no".
macro_rules! without_fine_waits {
    ($($name:ident, $inside:ident, $errno:ident;)*) => {$(
        #[test]
        fn $name() {
            in_own_process(stringify!($inside));
        }

        #[test]
        #[ignore = "run by the test above, in a process of its own"]
        fn $inside() {
            without_fine_waits(libc::$errno);
        }
    )*};
}

without_fine_waits! {
    fine_waits_are_unknown, fine_waits_are_unknown_inside, ENOSYS;
    fine_waits_are_not_permitted, fine_waits_are_not_permitted_inside, EPERM;
    fine_waits_are_denied, fine_waits_are_denied_inside, EACCES;
    fine_waits_are_invalid, fine_waits_are_invalid_inside, EINVAL;
    fine_waits_are_not_supported, fine_waits_are_not_supported_inside, EOPNOTSUPP;
}

/// Puts something else in the place of the reactor's descriptor of this kind, as a program does that closes what is not its own.
fn break_descriptor(kind: &str) {
    use std::os::fd::AsRawFd;
    let link = |fd: &std::fs::DirEntry| std::fs::read_link(fd.path()).is_ok_and(|to| to.ends_with(kind));
    let found: Vec<libc::c_int> = std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .map(Result::unwrap)
        .filter(link)
        .map(|fd| fd.file_name().to_str().unwrap().parse().unwrap())
        .collect();
    assert!(!found.is_empty(), "no {kind}");
    let null = File::open("/dev/null").unwrap();
    for fd in found {
        // SAFETY: plain numbers; whose descriptor it was finds out, which is the point.
        assert_eq!(unsafe { libc::dup2(null.as_raw_fd(), fd) }, fd);
    }
}

#[test]
fn a_reactor_whose_waker_is_broken() {
    in_own_process("a_reactor_whose_waker_is_broken_inside");
}

#[test]
#[ignore = "run by a_reactor_whose_waker_is_broken, in a process of its own"]
fn a_reactor_whose_waker_is_broken_inside() {
    let _watch = watch!();
    block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        // Somebody sleeps in the reactor, for as long as nobody has news.
        assert!(timeout(Duration::from_millis(5), listener.accept()).await.is_err());
        break_descriptor("anon_inode:[eventfd]");
        for _ in 0..20 {
            // Each is earlier than what the waiter waits for, or a task for it to run: it has to be told.
            assert!(timeout(Duration::from_millis(2), listener.accept()).await.is_err());
            spawn(sleep(Duration::from_millis(1))).await.unwrap();
        }
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        listener.accept().await.unwrap();
        drop(client);
    });
}

#[test]
fn a_reactor_that_cannot_wait() {
    in_own_process("a_reactor_that_cannot_wait_inside");
}

#[test]
#[ignore = "run by a_reactor_that_cannot_wait, in a process of its own"]
fn a_reactor_that_cannot_wait_inside() {
    let _watch = watch!();
    block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        assert!(timeout(Duration::from_millis(5), listener.accept()).await.is_err());
        // The thread that sleeps in the old one learns it when its wait ends.
        break_descriptor("anon_inode:[eventpoll]");
        for _ in 0..5 {
            spawn(sleep(Duration::from_millis(2))).await.unwrap();
        }
        // Timers go on, sockets say that they cannot.
        let error = listener.accept().await.unwrap_err();
        assert!(error.to_string().contains("nobody watches"), "{error}");
        assert!(TcpListener::bind("127.0.0.1:0").await.is_err());
        sleep(Duration::from_millis(2)).await;
    });
}
