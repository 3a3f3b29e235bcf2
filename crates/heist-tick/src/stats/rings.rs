//! Sums over the last seconds and minutes, in fixed memory.
//!
//! Time is cut into slices; what happens is added to the present one, which goes to all three rings when it ends. A window is the present
//! slice with as many before it as the window is long. So it covers at least its length, and at most one slice more; what divides by time divides by what
//! is really covered, which is less only for what is younger than the window.
//!
//! | ring | windows | slices |
//! |---|---|---|
//! | short | 5 s, 15 s | `S` in 15 s, and the present one |
//! | middle | 1 min | 2, and the present one |
//! | long | 5 min, 15 min | `S` in 15 min, and the present one |

use super::window::Window;

/// What a slice of a ring adds up.
pub(super) trait Slice: Default {
    /// Forgets everything: the slice is used for another time.
    fn clear(&mut self);
    /// Adds what another slice has added up.
    fn merge(&mut self, other: &Self);
}

/// Large slices are on the heap one by one: all of them together are more than a small stack has room for.
impl<T: Slice> Slice for Box<T> {
    fn clear(&mut self) {
        (**self).clear();
    }

    fn merge(&mut self, other: &Self) {
        (**self).merge(other);
    }
}

/// How many slices the window of a minute has, besides the present one.
const PER_MINUTE: usize = 2;

/// The slices of all windows. `S` is a multiple of three, so that a third of a ring is whole slices, and `L` is one more.
#[derive(Clone, Debug)]
pub(super) struct Rings<T, const S: usize, const L: usize> {
    /// The present slice: each run touches it, and only it.
    present: T,
    /// Made when the first slice ends: so it is far from the present one of any tick, and the runs of many ticks touch few pages of memory.
    past: Option<Box<Past<T, S, L>>>,
}

#[derive(Clone, Debug)]
pub(super) struct Past<T, const S: usize, const L: usize> {
    /// Those before the present one.
    short: [T; S],
    middle: [T; PER_MINUTE + 1],
    long: [T; L],
}

impl<T: Slice, const S: usize, const L: usize> Default for Past<T, S, L> {
    fn default() -> Self {
        let slice = |_| T::default();
        Self {
            short: std::array::from_fn(slice),
            middle: std::array::from_fn(slice),
            long: std::array::from_fn(slice),
        }
    }
}

impl<T: Slice, const S: usize, const L: usize> Rings<T, S, L> {
    const SHORT_NS: u64 = {
        assert!(
            S.is_multiple_of(3) && S > 0,
            "a third of the slices before the present one is one of the windows"
        );
        assert!(L == S + 1, "the long ring has the present slice as well");
        Window::Secs15.length_ns() / S as u64
    };
    const MIDDLE_NS: u64 = Self::of_whole(Window::Min1.length_ns() / PER_MINUTE as u64);
    const LONG_NS: u64 = Self::of_whole(Window::Min15.length_ns() / S as u64);

    /// The length of a slice, of which each slice of the short ring is in exactly one.
    const fn of_whole(slice_ns: u64) -> u64 {
        assert!(slice_ns.is_multiple_of(Self::SHORT_NS), "no slice of the short ring is in two of another");
        slice_ns
    }

    pub(super) fn new() -> Self {
        Self { present: T::default(), past: None }
    }

    /// Makes room for what happens at the age `to_ns`, if the last that happened was at `from_ns` or before.
    pub(super) fn advance(&mut self, from_ns: u64, to_ns: u64) {
        let (from, to) = (from_ns / Self::SHORT_NS, to_ns / Self::SHORT_NS);
        if from == to {
            return;
        }
        let Self { present, past } = self;
        let past = past.get_or_insert_default();
        past.middle[place(from_ns / Self::MIDDLE_NS, PER_MINUTE + 1)].merge(present);
        past.long[place(from_ns / Self::LONG_NS, L)].merge(present);
        past.short[place(from, S)] = std::mem::take(present);
        clear_between(&mut past.short, from, to - 1);
        clear_between(&mut past.middle, from_ns / Self::MIDDLE_NS, to_ns / Self::MIDDLE_NS);
        clear_between(&mut past.long, from_ns / Self::LONG_NS, to_ns / Self::LONG_NS);
    }

    /// Adds what happens at the age up to which the rings have advanced.
    pub(super) fn record(&mut self, add: impl FnOnce(&mut T)) {
        add(&mut self.present);
    }

    /// The sum of a window that ends at `now_ns`, and how long it is, if the rings have advanced to `recorded_ns` and not beyond `now_ns`.
    pub(super) fn sum(&self, window: Window, recorded_ns: u64, now_ns: u64) -> (T, u64) {
        let past = self.past.as_deref();
        let (ring, slice_ns, begun) = match window {
            Window::Secs5 | Window::Secs15 => (past.map(|past| &past.short[..]), Self::SHORT_NS, 0),
            Window::Min1 => (past.map(|past| &past.middle[..]), Self::MIDDLE_NS, 1),
            Window::Min5 | Window::Min15 => (past.map(|past| &past.long[..]), Self::LONG_NS, 1),
        };
        let first = (now_ns / slice_ns).saturating_sub(window.length_ns() / slice_ns);
        let mut sum = T::default();
        if let Some(ring) = ring {
            // Later slices have not been cleared yet, and nothing has happened in them.
            for number in first..recorded_ns / slice_ns + begun {
                sum.merge(&ring[place(number, ring.len())]);
            }
        }
        // What is not yet in any ring.
        if first <= recorded_ns / slice_ns {
            sum.merge(&self.present);
        }
        (sum, now_ns - first * slice_ns)
    }
}

fn place(number: u64, len: usize) -> usize {
    (number % len as u64) as usize
}

/// Clears the slices after the one with the number `from` up to `to`, each once.
fn clear_between<T: Slice>(ring: &mut [T], from: u64, to: u64) {
    let first = (from + 1).max((to + 1).saturating_sub(ring.len() as u64));
    for number in first..=to {
        ring[place(number, ring.len())].clear();
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: u64 = 1_000_000_000;

    impl Slice for Vec<u64> {
        fn clear(&mut self) {
            Vec::clear(self);
        }

        fn merge(&mut self, other: &Self) {
            self.extend(other);
        }
    }

    fn check<const S: usize, const L: usize>(steps: &[u64], more_ns: u64) -> Result<(), TestCaseError> {
        let mut rings = Rings::<Vec<u64>, S, L>::new();
        let (mut now_ns, mut all) = (0, Vec::new());
        for step in steps {
            rings.advance(now_ns, now_ns + step);
            now_ns += step;
            rings.record(|slice| slice.push(now_ns));
            all.push(now_ns);
        }
        let recorded_ns = now_ns;
        now_ns += more_ns;
        for window in Window::ALL {
            let (mut sum, covered_ns) = rings.sum(window, recorded_ns, now_ns);
            sum.sort_unstable();
            let since_ns = now_ns - covered_ns;
            let expected: Vec<u64> = all.iter().copied().filter(|&at_ns| at_ns >= since_ns).collect();
            prop_assert_eq!(sum, expected, "{} at {}", window, now_ns);
            prop_assert!(covered_ns >= window.length_ns().min(now_ns));
            let slices = if window == Window::Min1 { 2 } else { S as u64 };
            let longest = if window <= Window::Min1 { Window::Secs15.max(window) } else { Window::Min15 };
            prop_assert!(covered_ns < window.length_ns() + longest.length_ns() / slices);
        }
        Ok(())
    }

    proptest! {
        /// A window has exactly what happened in the time that it says it covers.
        #[test]
        fn nothing_is_counted_twice_or_too_early_or_too_late(
            steps in prop::collection::vec(
                prop_oneof![Just(0), 0..SECOND, 0..100 * SECOND, 0..3000 * SECOND],
                0..60,
            ),
            more_ns in prop_oneof![Just(0), 0..20 * SECOND, 0..3000 * SECOND],
        ) {
            check::<3, 4>(&steps, more_ns)?;
            check::<6, 7>(&steps, more_ns)?;
        }
    }

    #[test]
    fn the_end_of_the_clock_is_no_edge() {
        let mut rings = Rings::<Vec<u64>, 6, 7>::new();
        rings.advance(0, u64::MAX);
        rings.record(|slice| slice.push(1));
        for window in Window::ALL {
            assert_eq!(rings.sum(window, u64::MAX, u64::MAX).0, [1], "{window}");
            assert_eq!(rings.sum(window, 0, u64::MAX).0, [0; 0], "{window}");
        }
    }
}
