//! The live view, as a browser and its enemies see it.

mod client;
mod looks;
mod program;
mod security;
mod streams;
