//! What the tests share.

#![allow(dead_code, reason = "not every binary needs all of it")]

#[cfg(unix)]
pub mod byte;
pub mod child;
pub mod compute;
pub mod count;
pub mod ends;
pub mod fenced;
#[cfg(target_os = "linux")]
pub mod filter;
#[cfg(target_os = "linux")]
pub mod forked;
pub mod gate;
pub mod ledger;
pub mod pool;
#[cfg(feature = "tick")]
pub mod reports;
pub mod scale;
pub mod seed;
#[cfg(target_os = "linux")]
pub mod threads;
#[cfg(target_os = "linux")]
pub mod usage;
pub mod watchdog;
