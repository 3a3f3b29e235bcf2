//! heist-policy
