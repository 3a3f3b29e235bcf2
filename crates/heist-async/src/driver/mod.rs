#![doc = include_str!("README.md")]
// Timers alone need only a part of the protocols.
#![cfg_attr(not(feature = "net"), allow(dead_code))]

pub(crate) mod batch;
pub(crate) mod board;
#[cfg(all(test, heist_loom, feature = "net"))]
mod loom;
#[cfg(all(feature = "net", not(heist_model)))]
mod poller;
#[cfg_attr(heist_model, path = "reactor_model.rs")]
#[cfg_attr(not(any(heist_model, feature = "net")), path = "no_reactor.rs")]
pub(crate) mod reactor;
#[cfg(feature = "net")]
pub(crate) mod readiness;
#[cfg(feature = "net")]
pub(crate) mod source;
#[cfg(feature = "net")]
mod waiters;

pub(crate) mod wait;

#[cfg(not(heist_model))]
mod turn;
#[cfg(not(heist_model))]
pub(crate) use turn::register;
