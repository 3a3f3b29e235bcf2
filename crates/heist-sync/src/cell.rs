//! A cell whose accesses the model checkers can see.

#[cfg(heist_loom)]
pub use loom::cell::UnsafeCell;

#[cfg(not(heist_loom))]
pub use plain::UnsafeCell;

#[cfg(not(heist_loom))]
mod plain {
    /// [`std::cell::UnsafeCell`] with loom's calling convention: an access is a closure, so that a checker knows when it
    /// begins and ends.
    ///
    /// ```
    /// let cell = heist_sync::cell::UnsafeCell::new(1);
    /// // SAFETY: nobody else has the cell.
    /// cell.with_mut(|p| unsafe { *p += 1 });
    /// // SAFETY: as above.
    /// assert_eq!(cell.with(|p| unsafe { *p }), 2);
    /// ```
    #[derive(Debug, Default)]
    pub struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        /// Wraps a value.
        pub const fn new(value: T) -> Self {
            Self(std::cell::UnsafeCell::new(value))
        }

        /// Calls `f` with a pointer for reading. The caller answers for the absence of writers meanwhile.
        #[inline(always)]
        pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            f(self.0.get())
        }

        /// Calls `f` with a pointer for writing. The caller answers for being alone meanwhile.
        #[inline(always)]
        pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0.get())
        }
    }
}
