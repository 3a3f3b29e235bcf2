//! heist's scheduling decisions, each a pure function from what a worker sees to what it should do.
//!
//! Nothing here touches an atomic, a clock or a source of randomness: the mechanism looks, calls, and obeys. So the policy
//! can be read in one sitting, tested by tables, and run unchanged by a simulator with virtual time.
//!
//! | question | asked by | answered in |
//! |---|---|---|
//! | where do I look for work next? | a worker between two jobs | [`next_source`] |
//! | may I join the searchers? | a worker that ran out of its own work | [`may_search`] |
//! | whom do I steal from, in which order? | a searcher | [`victims`], [`victims_by_node`] |
//! | on which node does a thread belong? | a pool that pins its threads | [`node_of_index`] |
//! | do I wake somebody? | whoever made or found work | [`on_new_work`], [`on_found_work`] |
//! | do I keep searching, or sleep? | a worker that finds nothing | [`step`] |
//! | what do I do while I wait? | a worker whose join or scope is not finished | [`wait_step`] |
//! | how many jobs do I move? | an owner | [`publish`], [`take_back`] |
//! | is everybody stuck? | the monitor | [`last_resort`], [`overtake`] |
//! | which tick runs next, and until when may I sleep? | a worker between two runs | [`tick::next_tick`], [`tick::nearest`] |
//! | when does this tick run again? | a worker after a run | [`tick::after_run`], [`tick::count`] |
//! | is it the turn of something other than ticks? | a worker between two runs | [`tick::ticks_must_yield`], [`tick::closures_may_go_on`] |
//! | whose is a new tick? | whoever makes it | [`tick::place`] |
//!
//! All numbers that were chosen rather than derived are in [`tuning`], each with its reason.
//!
//! A view may be stale by the time its decision is carried out. No decision here is relied upon to be fresh: the mechanism
//! announces, fences and looks again before a thread sleeps.
//!
//! The decisions are plain enums without `#[non_exhaustive]`: a new answer must break every place that has to act on it.

#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

mod ladder;
mod monitor;
mod share;
mod source;
pub mod tick;
pub mod tuning;
mod victims;
mod wait;
mod wake;

pub use ladder::{Ladder, Limits, step};
pub use monitor::{Overtake, TasksView, last_resort, overtake};
pub use share::{publish, take_back};
pub use source::{Source, Sources, next_source};
pub use victims::{node_of_index, victims, victims_by_node};
pub use wait::{WaitStep, WaitView, wait_step};
pub use wake::{IdleView, Wake, may_search, on_found_work, on_new_work, search_cap};
