#![doc = include_str!("README.md")]
// The models use the protocols without the sockets and futures that are made of them, and timers alone need only a part of them.
#![cfg_attr(any(heist_loom, not(feature = "net")), allow(dead_code))]

pub(crate) mod batch;
pub(crate) mod board;
#[cfg(all(test, heist_loom, feature = "net"))]
mod loom;
#[cfg(all(feature = "net", not(heist_loom)))]
mod poller;
#[cfg(all(feature = "net", not(heist_loom)))]
pub(crate) mod reactor;
#[cfg(all(not(feature = "net"), not(heist_loom)))]
#[path = "no_reactor.rs"]
pub(crate) mod reactor;
#[cfg(feature = "net")]
pub(crate) mod readiness;
#[cfg(feature = "net")]
pub(crate) mod source;
#[cfg(feature = "net")]
mod waiters;

pub(crate) mod wait;

#[cfg(not(heist_loom))]
mod turn;
#[cfg(not(heist_loom))]
pub(crate) use turn::register;
