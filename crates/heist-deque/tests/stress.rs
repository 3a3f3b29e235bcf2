//! The stress tests of `src/tests/stress.rs` with the index width that ships.
#![cfg(not(any(heist_loom, heist_shuttle)))]

use heist_deque::{Options, Owner, Steal, Thief, deque_with};

#[path = "../src/tests/stress.rs"]
mod stress;
