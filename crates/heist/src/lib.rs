//! heist
