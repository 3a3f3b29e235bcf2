//! A model of `block_on` for loom: its sleep against a wake.
//!
//! Run with `RUSTFLAGS="--cfg heist_model --cfg heist_loom" cargo test -p heist-async --release --lib loom`.

use super::block_on;
use heist_sync::atomic::{AtomicBool, Ordering};
use heist_sync::{Mutex, StdArc as Arc, lock, thread};
use std::future::poll_fn;
use std::task::{Poll, Waker};

/// Hunts: a wake between the poll and the sleep that nobody sees; then the model hangs, and loom says so.
#[test]
fn a_sleep_against_wakes() {
    for wakes in 1..=2 {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = builder.preemption_bound.max(Some(2));
        builder.check(move || {
            let flags = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
            let wakers: Arc<[Mutex<Option<Waker>>; 2]> = Arc::new([Mutex::new(None), Mutex::new(None)]);
            let others: Vec<_> = (0..wakes)
                .map(|i| {
                    let (flags, wakers) = (flags.clone(), wakers.clone());
                    thread::spawn(move || {
                        flags[i].store(true, Ordering::Relaxed);
                        let waker = lock(&wakers[i]).take();
                        if let Some(waker) = waker {
                            waker.wake();
                        }
                    })
                })
                .collect();
            block_on(poll_fn(|cx| {
                for waker in &wakers[..wakes] {
                    *lock(waker) = Some(cx.waker().clone());
                }
                let all = flags[..wakes].iter().all(|flag| flag.load(Ordering::Relaxed));
                if all { Poll::Ready(()) } else { Poll::Pending }
            }));
            for other in others {
                other.join().unwrap();
            }
        });
    }
}
