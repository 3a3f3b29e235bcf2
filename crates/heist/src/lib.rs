//! heist
pub use heist_fork::*;
