//! Parallel work from the destructors of thread-locals: a thread that ends has no thread-locals of ours left to use.

use heist::prelude::*;
use heist::{ThreadPool, ThreadPoolBuilder, WorkerLocal};
use std::cell::RefCell;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, LazyLock};

static SEEN: LazyLock<WorkerLocal<u8>> = LazyLock::new(|| WorkerLocal::new(|| 1));

/// Goes through every door when it is dropped.
struct Late {
    pool: Arc<ThreadPool>,
    done: Sender<u64>,
}

impl Drop for Late {
    fn drop(&mut self) {
        let mut sum = 0;
        let (a, b) = heist::join(|| 1, || 2);
        sum += a + b;
        sum += self.pool.install(|| 4);
        sum += self.pool.fork(|f| f.join(|_| 8, |_| 16)).1;
        sum += heist::fork(|f| f.join(|_| 16, |_| 0)).0;
        heist::scope(|s| s.spawn(|_| sum += 32));
        self.pool.in_place_scope(|s| s.spawn(|_| sum += 64));
        sum += (0..128u64).into_par_iter().map(|_| 1).sum::<u64>();
        sum += self.pool.broadcast(|_| 256 / 2).into_iter().sum::<u64>();
        sum += SEEN.with(|one| u64::from(*one)) * 512;
        let (send, receive) = channel();
        let again = send.clone();
        heist::spawn(move || send.send(512).unwrap());
        self.pool.spawn_fifo(move || again.send(512).unwrap());
        sum += receive.into_iter().sum::<u64>();
        self.done.send(sum).unwrap();
    }
}

const ALL: u64 = 3 + 4 + 16 + 16 + 32 + 64 + 128 + 256 + 512 + 1024;

thread_local! {
    // Destructors run in no order that is promised, so there are some that were registered before ours and some after.
    static FIRST: RefCell<Option<Late>> = const { RefCell::new(None) };
    static SECOND: RefCell<Option<Late>> = const { RefCell::new(None) };
    static THIRD: RefCell<Option<Late>> = const { RefCell::new(None) };
}

fn pool() -> Arc<ThreadPool> {
    Arc::new(ThreadPoolBuilder::new().num_threads(2).build().unwrap())
}

#[test]
fn a_thread_outside_of_all_pools_may_work_in_parallel_while_it_ends() {
    let pool = pool();
    let (done, results) = channel();
    std::thread::spawn(move || {
        let late = || Some(Late { pool: Arc::clone(&pool), done: done.clone() });
        FIRST.set(late());
        heist::join(|| (), || ());
        SECOND.set(late());
        heist::fork(|f| f.join(|_| (), |_| ()));
        SEEN.with(|_| ());
        THIRD.set(late());
    })
    .join()
    .unwrap();
    assert_eq!(results.into_iter().collect::<Vec<_>>(), [ALL; 3]);
}

#[test]
fn a_thread_of_a_pool_may_work_in_parallel_while_it_ends() {
    let (other, ending) = (pool(), ThreadPoolBuilder::new().num_threads(1).build().unwrap());
    let (done, results) = channel();
    let set = move || {
        let late = || Some(Late { pool: Arc::clone(&other), done: done.clone() });
        FIRST.set(late());
        SEEN.with(|_| ());
        SECOND.set(late());
        THIRD.set(late());
    };
    ending.install(set);
    ending.shutdown().unwrap();
    assert_eq!(results.into_iter().collect::<Vec<_>>(), [ALL; 3]);
}

/// It is in the pool until the end of one of its thread-locals, and outside after that.
#[test]
fn a_thread_that_has_joined_a_pool_may_work_in_parallel_while_it_ends() {
    let other = pool();
    let (done, results) = channel();
    // The pool outlives the thread: its other worker has to run what is spawned in the last moment.
    let joined = std::thread::spawn(move || {
        let late = || Some(Late { pool: Arc::clone(&other), done: done.clone() });
        FIRST.set(late());
        let joined = ThreadPoolBuilder::new().num_threads(2).use_current_thread().build().unwrap();
        SECOND.set(late());
        joined.join(|| (), || ());
        THIRD.set(late());
        joined
    })
    .join()
    .unwrap();
    assert_eq!(results.into_iter().collect::<Vec<_>>(), [ALL; 3]);
    joined.shutdown().unwrap();
}
