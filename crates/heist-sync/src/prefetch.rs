//! Asking for memory before it is needed.

/// Asks the processor to bring the first `lines` cache lines of what is at `at` near, where it can be asked. Nothing else happens,
/// whatever is there.
///
/// ```
/// let cold = Box::new([0_u8; 256]);
/// heist_sync::prefetch(std::ptr::from_ref(&*cold), 4);
/// ```
#[inline]
pub fn prefetch<T: ?Sized>(at: *const T, lines: usize) {
    #[cfg(all(target_arch = "x86_64", not(any(heist_model, miri))))]
    for line in 0..lines {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint; the processor ignores addresses that it cannot read.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast::<i8>().wrapping_add(64 * line)) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(any(heist_model, miri)))))]
    let _ = (at, lines);
}
