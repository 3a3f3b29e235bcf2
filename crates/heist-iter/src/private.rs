//! What public signatures need but users cannot name.

/// A supertrait that only this crate implements, so that a public trait can grow without breaking anybody.
#[allow(unreachable_pub, reason = "a bound of public traits")]
pub trait Sealed {}
