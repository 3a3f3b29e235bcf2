//! What docs/from-tokio.md says of tokio's own parts: those that need no runtime work on heist, the others panic and say why.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

#[test]
fn select_and_join_work_in_tasks() {
    let task = heist::task::spawn(async {
        let (send, receive) = oneshot::channel();
        let (never, pending) = oneshot::channel::<u32>();
        heist::task::spawn(async move {
            heist::time::sleep(Duration::from_millis(2)).await;
            send.send(5).unwrap();
        });
        let five = tokio::select! {
            value = receive => value.unwrap(),
            _ = pending => unreachable!("nobody sends"),
            () = heist::time::sleep(Duration::from_secs(60)) => unreachable!("sent long ago"),
        };
        drop(never);
        let (a, b) = tokio::join!(async { 1 }, heist::task::spawn(async { 2 }));
        five + a + b.unwrap()
    });
    assert_eq!(heist::block_on(task).unwrap(), 8);
}

#[test]
fn channels_and_locks_work_between_tasks() {
    let sum = heist::block_on(async {
        let (send, mut receive) = mpsc::channel(2);
        let total = std::sync::Arc::new(tokio::sync::Mutex::new(0));
        for n in 0..10 {
            let send = send.clone();
            heist::task::spawn(async move { send.send(n).await.unwrap() });
        }
        drop(send);
        while let Some(n) = receive.recv().await {
            *total.lock().await += n;
        }
        tokio::task::yield_now().await;
        *total.lock().await
    });
    assert_eq!(sum, 45);
}

/// What `future` panics with on heist.
fn words<F: Future>(future: impl FnOnce() -> F) -> String {
    let run = || heist::block_on(async { drop(future().await) });
    let payload = catch_unwind(AssertUnwindSafe(run)).expect_err("no panic");
    match payload.downcast::<String>() {
        Ok(message) => *message,
        Err(payload) => payload.downcast::<&str>().expect("a message").to_string(),
    }
}

#[test]
fn what_needs_tokios_runtime_says_so() {
    let soon = Duration::from_millis(1);
    for message in [
        words(|| async move { tokio::time::sleep(soon).await }),
        words(|| async move { tokio::time::timeout(soon, async {}).await }),
        words(|| async { tokio::spawn(async {}).await }),
        words(|| async { tokio::task::spawn_blocking(|| ()).await }),
    ] {
        assert!(message.contains("there is no reactor running"), "{message}");
    }
}

/// A runtime beside heist: its tasks are awaited here, and heist's timers work there.
#[test]
fn a_runtime_of_tokio_runs_beside() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let handle = runtime.handle().clone();
    let (end, ended) = oneshot::channel::<()>();
    let there = std::thread::spawn(move || {
        runtime.block_on(async {
            let theirs = heist::task::spawn(async { heist::join(|| 1, || 2) });
            heist::time::sleep(Duration::from_millis(1)).await;
            ended.await.unwrap();
            theirs.await.unwrap()
        })
    });
    let slept = heist::block_on(handle.spawn(async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        3
    }));
    end.send(()).unwrap();
    assert_eq!((slept.unwrap(), there.join().unwrap()), (3, (1, 2)));
}
