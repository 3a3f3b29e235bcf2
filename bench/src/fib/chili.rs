//! chili runs its second closure first, so the greater half is the second.

use chili::Scope;

pub fn fib(scope: &mut Scope<'_>, n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (b, a) = scope.join(|scope| fib(scope, n - 2), |scope| fib(scope, n - 1));
    a + b
}

/// The same with closures that own their argument.
pub fn fib_moved(scope: &mut Scope<'_>, n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (b, a) = scope.join(move |scope| fib_moved(scope, n - 2), move |scope| fib_moved(scope, n - 1));
    a + b
}
