//! A value on cache lines of its own.

use std::ops::Deref;

/// A value that shares no cache line with anything else, so that who writes it does not slow down who reads its neighbours.
///
/// As far apart as the platform's caches fetch at once: x86-64 and the larger ARMs fetch lines of 64 bytes in pairs.
///
/// ```
/// let words = [1, 2].map(heist_sync::CachePadded::new);
/// assert!(std::ptr::from_ref(&*words[1]).addr() - std::ptr::from_ref(&*words[0]).addr() >= 64);
/// ```
#[derive(Debug, Default)]
#[cfg_attr(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "powerpc64"), repr(align(128)))]
#[cfg_attr(target_arch = "s390x", repr(align(256)))]
#[cfg_attr(
    not(any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "powerpc64",
        target_arch = "s390x"
    )),
    repr(align(64))
)]
pub struct CachePadded<T>(T);

impl<T> CachePadded<T> {
    /// Pads `value`.
    pub const fn new(value: T) -> Self {
        Self(value)
    }
}

impl<T> Deref for CachePadded<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}
