//! How many jobs move at once: across the border of a split deque, or out of the injector.

use crate::tuning::FAIR_SHARE_MAX;

/// How many of an owner's `private_len` jobs become stealable when a thief asks: half, rounded up, so one of one.
///
/// One at a time would bring the thief's request back at once: on a tree of 1,023 nodes that cost 40 %.
///
/// ```
/// assert_eq!(heist_policy::publish(5), 3);
/// ```
#[must_use]
pub const fn publish(private_len: usize) -> usize {
    private_len.div_ceil(2)
}

/// How many of `shared_len` shared jobs an owner takes back when its private part is empty: half, rounded up, so that
/// what it leaves behind halves each time and thieves still find something until the last.
///
/// ```
/// assert_eq!(heist_policy::take_back(4), 2);
/// ```
#[must_use]
pub const fn take_back(shared_len: usize) -> usize {
    shared_len.div_ceil(2)
}

/// How many jobs a worker takes out of an injector that holds `len`, in a pool of `workers`: its even share and one more,
/// never more than [`FAIR_SHARE_MAX`] or than there are.
///
/// The one more makes sure that something is taken when there are fewer jobs than workers.
///
/// ```
/// assert_eq!(heist_policy::fair_share(10, 4), 3);
/// assert_eq!(heist_policy::fair_share(0, 4), 0);
/// ```
#[must_use]
pub const fn fair_share(len: usize, workers: usize) -> usize {
    // A pool between two sizes may say 0 workers; the asker is one.
    let workers = if workers == 0 { 1 } else { workers };
    let share = len / workers;
    let share = if share < FAIR_SHARE_MAX { share + 1 } else { FAIR_SHARE_MAX };
    if share < len { share } else { len }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_rounded_up() {
        for (len, half) in [(0, 0), (1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (usize::MAX, usize::MAX / 2 + 1)]
        {
            assert_eq!(publish(len), half, "publish {len}");
            assert_eq!(take_back(len), half, "take back {len}");
        }
    }

    #[test]
    fn fair_share_table() {
        let table = [
            (0, 0, 0),
            (0, 4, 0),
            (1, 0, 1),
            (1, 1, 1),
            (1, 4, 1),
            (3, 4, 1),
            (4, 4, 2),
            (10, 4, 3),
            (10, 1, 10),
            (126, 1, 126),
            (127, 1, 127),
            (128, 1, 128),
            (129, 1, 128),
            (1_000_000, 2, 128),
            (508, 4, 128),
            (504, 4, 127),
            (usize::MAX, 1, 128),
            (usize::MAX, usize::MAX, 2),
        ];
        for (len, workers, share) in table {
            assert_eq!(fair_share(len, workers), share, "{len} jobs, {workers} workers");
        }
    }

    #[test]
    fn a_share_is_never_too_much_and_never_nothing() {
        for len in 0..1_000 {
            for workers in 0..40 {
                let share = fair_share(len, workers);
                assert!(share <= len && share <= FAIR_SHARE_MAX);
                assert_eq!(share == 0, len == 0);
            }
        }
    }

    #[test]
    fn an_owner_alone_takes_everything_back() {
        let (mut shared, mut times) = (1_000_000_usize, 0);
        while shared > 0 {
            shared -= take_back(shared);
            times += 1;
        }
        assert_eq!(times, 20);
    }
}
