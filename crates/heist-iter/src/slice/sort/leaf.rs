//! The standard library's sorts, without their complaint about orders that contradict themselves.
//!
//! They may panic when they notice that `a < b < c < a`, which floats with a NaN among them easily come to. A program
//! that counts on sorts that do not would fail for the sake of an order that is unspecified anyway, so that one panic
//! ends here. It has been reported by the panic hook by then. Panics of the comparison itself go on.

use std::cell::Cell;
use std::cmp::Ordering;
use std::mem;
use std::panic::{self, AssertUnwindSafe};

/// `slice::sort_by`.
pub(super) fn sort_stable<T, F: Fn(&T, &T) -> Ordering>(v: &mut [T], cmp: &F) {
    tolerate(|watch| v.sort_by(|a, b| watch.call(|| cmp(a, b))));
}

/// `slice::sort_unstable_by`.
pub(super) fn sort_unstable<T, F: Fn(&T, &T) -> Ordering>(v: &mut [T], cmp: &F) {
    tolerate(|watch| v.sort_unstable_by(|a, b| watch.call(|| cmp(a, b))));
}

/// Runs `sort`, and stops a panic that did not come from a comparison. The standard library leaves all elements in the
/// slice when it panics.
fn tolerate(sort: impl FnOnce(&Watch)) {
    let watch = Watch { unwound: Cell::new(false) };
    match panic::catch_unwind(AssertUnwindSafe(|| sort(&watch))) {
        Err(panic) if watch.unwound.get() => panic::resume_unwind(panic),
        _ => {}
    }
}

/// Knows whether a comparison has panicked.
struct Watch {
    unwound: Cell<bool>,
}

impl Watch {
    #[inline(always)]
    fn call(&self, compare: impl FnOnce() -> Ordering) -> Ordering {
        struct Unwinding<'a>(&'a Watch);
        impl Drop for Unwinding<'_> {
            fn drop(&mut self) {
                self.0.unwound.set(true);
            }
        }
        let unwinding = Unwinding(self);
        let order = compare();
        mem::forget(unwinding);
        order
    }
}
