//! A [`Fork`] that is used further in than where it was made: by a closure that holds it in a wrapper which is `Send` because it
//! checks, at each use, that it is on the thread where it was made.

use heist::{Fork, ThreadPool, ThreadPoolBuilder, join, scope};
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::ThreadId;

/// As in the crate send_wrapper.
struct SendWrapper<T> {
    value: T,
    thread: ThreadId,
}

impl<T> SendWrapper<T> {
    fn new(value: T) -> Self {
        Self { value, thread: std::thread::current().id() }
    }

    fn is_here(&self) -> bool {
        self.thread == std::thread::current().id()
    }
}

// SAFETY: the value is only reached on the thread where the wrapper was made, and what is in here needs no drop.
unsafe impl<T: Copy> Send for SendWrapper<T> {}
// SAFETY: as above.
unsafe impl<T: Copy> Sync for SendWrapper<T> {}

impl<T> Deref for SendWrapper<T> {
    type Target = T;
    fn deref(&self) -> &T {
        assert!(self.is_here(), "used on another thread");
        &self.value
    }
}

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

/// A channel whose receiver any closure may use.
fn signal() -> (Sender<()>, Mutex<Receiver<()>>) {
    let (send, receive) = channel();
    (send, Mutex::new(receive))
}

fn wait(receiver: &Mutex<Receiver<()>>) {
    receiver.lock().unwrap_or_else(PoisonError::into_inner).recv().unwrap();
}

/// The outer half is in a thief's hands while the inner fork comes and goes.
#[test]
fn an_inner_join_on_an_outer_fork_keeps_its_results_while_the_outer_half_is_stolen() {
    let pool = pool(2);
    let (begun, wait_begun) = signal();
    let (over, wait_over) = signal();
    let runs = AtomicUsize::new(0);
    let (inner, outer) = pool.fork(|f| {
        let same = SendWrapper::new(&f);
        f.join(
            |_| {
                wait(&wait_begun);
                let inner = same.join(|_| Box::new(1), |_| Box::new(2));
                over.send(()).unwrap();
                inner
            },
            |_| {
                runs.fetch_add(1, Ordering::Relaxed);
                begun.send(()).unwrap();
                wait(&wait_over);
                Box::new(3)
            },
        )
    });
    assert_eq!((*inner.0, *inner.1, *outer), (1, 2, 3));
    assert_eq!(runs.into_inner(), 1);
    pool.shutdown().unwrap();
}

/// A tree in which each fork is made on the `Fork` of the root, if the root's thread makes it.
fn count(root: &SendWrapper<&Fork<'_>>, here: Fork<'_>, depth: usize, leaves: &AtomicUsize) -> usize {
    if depth == 0 {
        leaves.fetch_add(1, Ordering::Relaxed);
        return 1;
    }
    let (a, b) = if root.is_here() && depth.is_multiple_of(2) {
        root.join(|f| count(root, f, depth - 1, leaves), |f| count(root, f, depth - 1, leaves))
    } else {
        here.join(|f| count(root, f, depth - 1, leaves), |f| count(root, f, depth - 1, leaves))
    };
    a + b
}

#[test]
fn every_leaf_of_a_tree_on_an_outer_fork_runs_once() {
    for threads in [1, 2, 4] {
        let pool = pool(threads);
        for _ in 0..200 {
            let leaves = AtomicUsize::new(0);
            let counted = pool.fork(|f| {
                let root = SendWrapper::new(&f);
                let (a, b) = f.join(|g| count(&root, g, 9, &leaves), |g| count(&root, g, 9, &leaves));
                a + b
            });
            assert_eq!((counted, leaves.into_inner()), (1024, 1024));
        }
        pool.shutdown().unwrap();
    }
}

/// The other doors move the top of the stack as well.
#[test]
fn an_outer_fork_works_below_joins_and_scopes() {
    let pool = pool(2);
    for _ in 0..200 {
        let jobs = AtomicUsize::new(0);
        let one = || {
            jobs.fetch_add(1, Ordering::Relaxed);
        };
        pool.fork(|f| {
            let outer = SendWrapper::new(&f);
            join(
                || {
                    outer.join(|_| one(), |_| one());
                    scope(|s| {
                        s.spawn(|_| one());
                        outer.join(|g| g.join(|_| one(), |_| one()), |_| one());
                    });
                },
                one,
            );
        });
        assert_eq!(jobs.into_inner(), 7);
    }
    pool.shutdown().unwrap();
}
