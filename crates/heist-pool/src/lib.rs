//! heist-pool
