//! Programs that are run very often. Optimised builds do twenty times as much, and `HEIST_STRESS` multiplies that.

#[path = "../rig/mod.rs"]
mod rig;

mod exactly_once;
mod random_programs;
mod rising;
mod trace_convert;
mod work_conserving;
