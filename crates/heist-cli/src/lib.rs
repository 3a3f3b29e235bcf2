//! heist-cli
