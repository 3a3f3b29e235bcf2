//! Whose jobs a thread runs, for reports: then a thread that waits for such a job is known to wait for that thread. It is kept from when stalls are
//! watched.

// To be shown: no protocol depends on any of it, so it is not for the checkers.
use heist_sync::std_atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::panic::Location;
use std::ptr;

/// Jobs that a thread runs on top of each other are told so deep.
const LEVELS: usize = 8;

/// See the module. Its own thread writes, others read.
#[derive(Debug, Default)]
pub(crate) struct Serves {
    depth: AtomicUsize,
    levels: [Level; LEVELS],
}

#[derive(Debug, Default)]
struct Level {
    /// The address of what waits for the job: a scope, or the call itself; 0 for nothing.
    what: AtomicUsize,
    /// Where the job was spawned, if that is known.
    site: AtomicPtr<Location<'static>>,
}

/// What was seen of it, outermost first: the addresses of what waits, and where the jobs were spawned.
pub(crate) type Served = (usize, Option<&'static Location<'static>>);

impl Serves {
    /// The thread begins a job, on top of those that it runs. `what` waits for it.
    #[cold]
    pub fn begin(&self, what: usize) {
        let depth = self.depth.load(Ordering::Relaxed);
        if let Some(level) = self.levels.get(depth) {
            level.site.store(ptr::null_mut(), Ordering::Relaxed);
            level.what.store(what, Ordering::Relaxed);
        }
        self.depth.store(depth + 1, Ordering::Relaxed);
    }

    /// The job was spawned there.
    pub fn set_site(&self, site: &'static Location<'static>) {
        let depth = self.depth.load(Ordering::Relaxed);
        if let Some(level) = depth.checked_sub(1).and_then(|depth| self.levels.get(depth)) {
            level.site.store(ptr::from_ref(site).cast_mut(), Ordering::Relaxed);
        }
    }

    /// The job is over.
    #[cold]
    pub fn end(&self) {
        let depth = self.depth.load(Ordering::Relaxed).saturating_sub(1);
        if let Some(level) = self.levels.get(depth) {
            level.what.store(0, Ordering::Relaxed);
        }
        self.depth.store(depth, Ordering::Relaxed);
    }

    /// As it is now, about: the thread goes on meanwhile.
    pub fn now(&self) -> Vec<Served> {
        let depth = self.depth.load(Ordering::Relaxed).min(LEVELS);
        let level = |level: &Level| {
            // SAFETY: null, or made of a `&'static` in `set_site`.
            let site = unsafe { level.site.load(Ordering::Relaxed).as_ref() };
            (level.what.load(Ordering::Relaxed), site)
        };
        self.levels[..depth].iter().map(level).filter(|(what, _)| *what != 0).collect()
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;

    #[test]
    fn jobs_on_top_of_each_other_are_all_told() {
        let serves = Serves::default();
        let site = Location::caller();
        serves.begin(16);
        serves.set_site(site);
        serves.begin(32);
        let now = serves.now();
        assert_eq!(now.iter().map(|served| served.0).collect::<Vec<_>>(), [16, 32]);
        assert_eq!(now.iter().map(|served| served.1.is_some()).collect::<Vec<_>>(), [true, false]);
        serves.end();
        assert_eq!(serves.now().len(), 1);
        // Those that are too deep are not told, and take nobody's place.
        (0..2 * LEVELS).for_each(|n| serves.begin(64 + n));
        assert_eq!(serves.now().len(), LEVELS);
        (0..2 * LEVELS).for_each(|_| serves.end());
        assert_eq!(serves.now().iter().map(|served| served.0).collect::<Vec<_>>(), [16]);
        serves.end();
        assert_eq!(serves.now().len(), 0);
    }
}
