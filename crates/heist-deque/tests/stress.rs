//! The stress tests of `src/tests/stress.rs` with the index width that ships.
#![cfg(not(heist_model))]
// In a plain build the facade's atomics are std's own types, and the lint does not see which door they came through.
#![allow(clippy::disallowed_types)]

use heist_deque::{Options, Owner, Steal, Thief, deque_with};

#[path = "../src/tests/stress.rs"]
mod stress;
