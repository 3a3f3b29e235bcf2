//! Under a checker no process is profiled as a whole.

pub(crate) fn start() {}

#[inline]
pub(crate) fn called(call: &mut dyn FnMut()) {
    call();
}
