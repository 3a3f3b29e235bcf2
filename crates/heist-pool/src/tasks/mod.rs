#![doc = include_str!("README.md")]

#[cfg(all(test, heist_loom))]
mod loom;
mod ring;

pub use ring::RunQueue;
