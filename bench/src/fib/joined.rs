//! With a free `join`: rayon and heist.

use crate::peers::Backend;

pub fn fib<B: Backend>(n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = B::join(|| fib::<B>(n - 1), || fib::<B>(n - 2));
    a + b
}

/// The same with closures that own their argument.
pub fn fib_moved<B: Backend>(n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = B::join(move || fib_moved::<B>(n - 1), move || fib_moved::<B>(n - 2));
    a + b
}
