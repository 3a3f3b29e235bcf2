//! What the tests share, with each other and with those of `heist`.

#![allow(dead_code, reason = "not every feature needs all of it")]

#[path = "../../../../heist/tests/rig/child.rs"]
pub mod child;
pub mod io;
#[path = "../../../../heist/tests/rig/watchdog.rs"]
pub mod watchdog;
