//! heist-trace
