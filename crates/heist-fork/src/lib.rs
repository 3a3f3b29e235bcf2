//! heist-fork
