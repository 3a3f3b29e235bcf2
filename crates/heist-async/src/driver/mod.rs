#![doc = include_str!("README.md")]
// The models use the protocols without the sockets and futures that are made of them.
#![cfg_attr(heist_loom, allow(dead_code))]

pub(crate) mod batch;
pub(crate) mod board;
#[cfg(all(test, heist_loom))]
mod loom;
#[cfg(not(heist_loom))]
mod poller;
#[cfg(not(heist_loom))]
pub(crate) mod reactor;
pub(crate) mod readiness;
pub(crate) mod source;
mod waiters;

pub(crate) mod wait;

#[cfg(not(heist_loom))]
mod turn;
#[cfg(not(heist_loom))]
pub(crate) use turn::register;
