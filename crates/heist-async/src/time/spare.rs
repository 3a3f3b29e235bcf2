//! Shards that no driver has.

use super::Shard;
use heist_sync::process::PerProcess;
use heist_sync::{Mutex, lock};

// In a child process none: the parent's may be locked by a thread that does not exist.
static SPARE: PerProcess<Mutex<Vec<&'static Shard>>> =
    PerProcess::new(Mutex::new(Vec::new()), || Mutex::new(Vec::new()));

pub fn take() -> Option<&'static Shard> {
    lock(SPARE.get()).pop()
}

pub fn put(shard: &'static Shard) {
    lock(SPARE.get()).push(shard);
}
