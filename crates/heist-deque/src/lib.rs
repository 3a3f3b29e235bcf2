//! heist-deque
