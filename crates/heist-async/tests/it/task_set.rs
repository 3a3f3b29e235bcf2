//! Sets of tasks, and tasks that stand for a thread: how they end, and what `dump` shows of them.

use crate::rig::watchdog::watch;
use heist_async::block_on;
use heist_async::task::{self, Builder, JoinSet, dump};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

/// Says that it was dropped.
struct Told(mpsc::Sender<()>);

impl Drop for Told {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

#[test]
fn all_outputs() {
    let _watch = watch!();
    let mut set: JoinSet<usize> = (0..100).map(|i| async move { i }).collect();
    for i in 100..110 {
        set.spawn_blocking(move || i);
    }
    assert_eq!(set.len(), 110);
    let mut outputs = block_on(set.join_all());
    outputs.sort();
    assert!(outputs.into_iter().eq(0..110));
    assert!(block_on(JoinSet::<()>::new().join_all()).is_empty());
}

#[test]
fn a_panic_goes_on_and_the_rest_is_aborted() {
    let _watch = watch!();
    let (sender, dropped) = mpsc::channel();
    for is_blocking in [false, true] {
        let mut set = JoinSet::new();
        let told = Told(sender.clone());
        set.spawn(async move {
            let _told = told;
            std::future::pending::<()>().await
        });
        if is_blocking {
            set.spawn_blocking(|| std::panic::panic_any(7));
        } else {
            set.spawn(async { std::panic::panic_any(7) });
        }
        let payload = catch_unwind(AssertUnwindSafe(|| block_on(set.join_all()))).unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&7));
        dropped.recv().unwrap();
    }
}

#[test]
fn all_outputs_of_an_aborted_task() {
    let _watch = watch!();
    let mut set = JoinSet::new();
    set.spawn(std::future::pending::<()>()).abort();
    let payload = catch_unwind(AssertUnwindSafe(|| block_on(set.join_all()))).unwrap_err();
    assert!(payload.downcast_ref::<String>().unwrap().contains("was cancelled"));
}

#[test]
fn an_aborted_call_is_not_waited_for() {
    let _watch = watch!();
    let (go, gate) = mpsc::channel::<()>();
    let (sender, dropped) = mpsc::channel();
    let has_ended = Arc::new(AtomicBool::new(false));
    let mut set = JoinSet::new();
    let abort = set.spawn_blocking({
        let (has_ended, told) = (has_ended.clone(), Told(sender));
        move || {
            let _told = told;
            gate.recv().unwrap();
            has_ended.store(true, Ordering::SeqCst);
        }
    });
    abort.abort();
    assert!(block_on(set.join_next()).unwrap().unwrap_err().is_cancelled());
    // It may not have begun, and then it is dropped; if it has, it runs to its end.
    assert!(!has_ended.load(Ordering::SeqCst));
    let _ = go.send(());
    dropped.recv().unwrap();
}

#[test]
fn an_aborted_pinned_future_is_dropped() {
    let _watch = watch!();
    let (sender, dropped) = mpsc::channel();
    let told = Told(sender);
    let handle = Builder::new().name("pinned").spawn_pinned(move || async move {
        let _told = told;
        std::future::pending::<()>().await
    });
    let handle = handle.unwrap();
    handle.abort();
    assert!(block_on(handle).unwrap_err().is_cancelled());
    dropped.recv().unwrap();
}

#[test]
fn names() {
    let _watch = watch!();
    let is_shown = |id, name: &str| {
        dump()
            .iter()
            .any(|task| task.id() == id && task.name() == Some(name) && task.site().file() == file!())
    };
    let (go, gate) = mpsc::channel::<()>();
    let blocking = Builder::new().name("a call").spawn_blocking(move || gate.recv().unwrap());
    assert!(is_shown(blocking.id(), "a call"));
    go.send(()).unwrap();
    block_on(blocking).unwrap();

    let pinned = Builder::new().name("a thread").spawn_pinned(|| async {
        task::yield_now().await;
        if true {
            panic!("no luck");
        }
    });
    let pinned = pinned.unwrap();
    assert!(is_shown(pinned.id(), "a thread"));
    let payload = block_on(pinned).unwrap_err().into_panic();
    assert_eq!(payload.downcast_ref(), Some(&"no luck"));

    // Without a name there is nothing to stand for.
    assert_eq!(block_on(Builder::new().spawn_blocking(|| 1)).unwrap(), 1);
}
