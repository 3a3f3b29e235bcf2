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

/// As [`victims`], but those on the thief's own node come first; `nodes[w]` is the node of worker `w`.
///
/// Both the near and the far half begin at a random place of their own circle, so no worker is favoured for sitting
/// beside a gap in the numbering.
///
/// ```
/// let nodes = [0, 0, 0, 1, 1];
/// let order: Vec<usize> = heist_policy::victims_by_node(&nodes, 1, 4).collect();
/// assert_eq!(order, [3, 1, 2, 0]);
/// ```
pub fn victims_by_node(nodes: &[u16], start: usize, me: usize) -> impl Iterator<Item = usize> + Clone + '_ {
    let home = nodes.get(me).copied();
    let select =
        move |near: bool| (0..nodes.len()).filter(move |&v| v != me && (Some(nodes[v]) == home) == near);
    let half = move |near: bool| rotated(select(near), select(near).count(), start);
    half(true).chain(half(false))
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
        assert_eq!(victims_by_node(&[3], 7, 0).next(), None);
        assert_eq!(victims_by_node(&[], 7, 0).next(), None);
    }

    /// All assignments of up to six workers to three nodes.
    #[test]
    fn the_own_node_comes_first_and_everybody_once() {
        for n in 0..=6_u32 {
            for code in 0..3_u32.pow(n) {
                let nodes: Vec<u16> = (0..n).map(|w| (code / 3_u32.pow(w) % 3) as u16).collect();
                for me in 0..nodes.len() {
                    for start in (0..nodes.len()).chain([usize::MAX]) {
                        let order: Vec<usize> = victims_by_node(&nodes, start, me).collect();
                        each_other_once(&order, nodes.len(), me);
                        assert!(
                            order.is_sorted_by_key(|&v| nodes[v] != nodes[me]),
                            "nodes {nodes:?}, me {me}, order {order:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn the_near_are_equally_likely_even_beside_a_gap() {
        let nodes = [0, 0, 0, 0, 1, 1, 1, 1];
        let mut firsts = [0; 8];
        for start in 0..12 {
            firsts[victims_by_node(&nodes, start, 0).next().unwrap()] += 1;
        }
        assert_eq!(firsts, [0, 4, 4, 4, 0, 0, 0, 0]);
    }

    #[test]
    fn on_one_node_the_order_is_the_plain_one() {
        for me in 0..5 {
            for start in 0..9 {
                assert!(victims_by_node(&[7; 5], start, me).eq(victims(5, start, me)));
            }
        }
    }

    #[test]
    fn a_thief_from_outside_visits_all() {
        for start in 0..5 {
            let order: Vec<usize> = victims_by_node(&[0, 1, 0], start, 9).collect();
            each_other_once(&order, 3, 9);
        }
    }
}
