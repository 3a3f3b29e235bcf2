//! Shards that no driver has.

use super::Shard;
use heist_sync::{Mutex, lock};

static SPARE: Mutex<Vec<&'static Shard>> = Mutex::new(Vec::new());

pub fn take() -> Option<&'static Shard> {
    lock(&SPARE).pop()
}

pub fn put(shard: &'static Shard) {
    lock(&SPARE).push(shard);
}
