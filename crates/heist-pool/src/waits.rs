//! What a thread waits for, in one word that others read.

use crate::pool::Pool;

/// What a thread of a pool waits for; a pure value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Waits(u64);

/// What a thread of a pool waits for.
///
/// ```
/// use heist::stall::WaitsFor;
///
/// let (send, receive) = std::sync::mpsc::channel();
/// let pool = heist::ThreadPoolBuilder::new().num_threads(1).build()?;
/// pool.spawn(move || heist::blocking(|| send.send(heist::stall::report()).unwrap()));
/// let report = receive.recv().unwrap();
/// assert!(report.pools.iter().flat_map(|pool| &pool.threads).any(|thread| thread.waits_for == WaitsFor::Blocking));
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum WaitsFor {
    /// Nothing, or nobody knows.
    Unknown,
    /// The half of a fork that this thread of the same pool has stolen.
    Half(usize),
    /// The jobs of a scope, a broadcast, or the end of a tick.
    Jobs,
    /// A call into another pool, which has this number.
    Call(usize),
    /// A future that it blocks on.
    Future,
    /// The permit with this index: it has asked for its number before, and the thread that has the permit now has asked, too.
    Permit(usize),
    /// Whatever is inside of `blocking`.
    Blocking,
}

impl Waits {
    const KIND_BITS: u32 = 3;
    const HALF: u64 = 1;
    const CALL: u64 = 3;
    const PERMIT: u64 = 5;

    /// See [`WaitsFor::Jobs`].
    pub const JOBS: Self = Self(2);
    /// See [`WaitsFor::Future`].
    pub const FUTURE: Self = Self(4);
    /// See [`WaitsFor::Blocking`].
    pub const BLOCKING: Self = Self(6);

    const fn with(kind: u64, value: u64) -> Self {
        Self(value << Self::KIND_BITS | kind)
    }

    /// See [`WaitsFor::Half`].
    pub fn half(thief: u16) -> Self {
        Self::with(Self::HALF, thief.into())
    }

    /// See [`WaitsFor::Call`].
    pub fn call(pool: &Pool) -> Self {
        Self::with(Self::CALL, pool.recorder().number().into())
    }

    /// See [`WaitsFor::Permit`].
    pub fn permit(index: u16) -> Self {
        Self::with(Self::PERMIT, index.into())
    }

    pub(crate) fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    /// Taken apart.
    pub fn what(self) -> WaitsFor {
        let value = (self.0 >> Self::KIND_BITS) as usize;
        match Self(self.0 & ((1 << Self::KIND_BITS) - 1)) {
            Self(Self::HALF) => WaitsFor::Half(value),
            Self::JOBS => WaitsFor::Jobs,
            Self(Self::CALL) => WaitsFor::Call(value),
            Self::FUTURE => WaitsFor::Future,
            Self(Self::PERMIT) => WaitsFor::Permit(value),
            Self::BLOCKING => WaitsFor::Blocking,
            Self(_) => WaitsFor::Unknown,
        }
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_together_can_be_taken_apart() {
        for n in [0, 1, 500, u16::MAX] {
            assert_eq!(Waits::half(n).what(), WaitsFor::Half(n.into()));
            assert_eq!(Waits::permit(n).what(), WaitsFor::Permit(n.into()));
        }
        assert_eq!(Waits::default().what(), WaitsFor::Unknown);
        assert_eq!(Waits::JOBS.what(), WaitsFor::Jobs);
        assert_eq!(Waits::FUTURE.what(), WaitsFor::Future);
        assert_eq!(Waits::BLOCKING.what(), WaitsFor::Blocking);
    }
}
