//! In which order a thief visits the others.

/// Every other worker exactly once, in a circle that begins at a random place.
///
/// `start` is the caller's random number. Where it is evenly spread, each victim is equally likely to come first: the
/// circle leaves `me` out, so nobody inherits the visits meant for `me`. A thief that is none of the `n` workers passes
/// any `me >= n` and visits all.
///
/// ```
/// let order: Vec<usize> = heist_policy::victims(4, 1, 2).collect();
/// assert_eq!(order, [1, 3, 0]);
/// ```
pub fn victims(n: usize, start: usize, me: usize) -> impl Iterator<Item = usize> + Clone {
    let others = if me < n { n - 1 } else { n };
    rotated((0..n).filter(move |&v| v != me), others, start)
}

/// The `len` items of `circle`, from the `start`th on and then around.
fn rotated<I: Iterator<Item = usize> + Clone>(
    circle: I,
    len: usize,
    start: usize,
) -> impl Iterator<Item = usize> + Clone {
    let start = start.checked_rem(len).unwrap_or(0);
    circle.clone().skip(start).chain(circle.take(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    const STARTS: [usize; 6] = [0, 1, 5, 60, usize::MAX - 1, usize::MAX];

    fn each_other_once(order: &[usize], n: usize, me: usize) {
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        let expected: Vec<usize> = (0..n).filter(|&v| v != me).collect();
        assert_eq!(sorted, expected, "n {n}, me {me}, order {order:?}");
    }

    #[test]
    fn every_other_worker_comes_exactly_once() {
        for n in 0..10 {
            for me in (0..n + 2).chain([usize::MAX]) {
                for start in (0..n + 2).chain(STARTS) {
                    each_other_once(&victims(n, start, me).collect::<Vec<_>>(), n, me);
                }
            }
        }
    }

    #[test]
    fn each_victim_comes_first_equally_often() {
        for n in 2..10_usize {
            for me in 0..n {
                let mut firsts = std::vec![0; n];
                for start in 0..3 * (n - 1) {
                    firsts[victims(n, start, me).next().unwrap()] += 1;
                }
                for (v, &times) in firsts.iter().enumerate() {
                    assert_eq!(times, if v == me { 0 } else { 3 }, "n {n}, me {me}, victim {v}");
                }
            }
        }
    }

    #[test]
    fn a_lonely_worker_has_no_victims() {
        assert_eq!(victims(1, 7, 0).next(), None);
        assert_eq!(victims(0, 7, 0).next(), None);
    }
}
