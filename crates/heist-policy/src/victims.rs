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

/// As [`victims`], nearest first: `ranks` has one number for each of the workers, 0 for the nearest to the thief, without holes. Among workers
/// of the same rank, each is equally likely to come first.
///
/// ```
/// // A thief on the node of the first two workers.
/// let order: Vec<usize> = heist_policy::victims_by_node(&[0, 0, 1, 1], 1, 0).collect();
/// assert_eq!(order, [1, 3, 2]);
/// ```
pub fn victims_by_node(ranks: &[u8], start: usize, me: usize) -> impl Iterator<Item = usize> + Clone {
    let most = ranks.iter().copied().max().unwrap_or(0);
    (0..=most).flat_map(move |rank| {
        let circle = (0..ranks.len()).filter(move |&v| v != me && ranks[v] == rank);
        rotated(circle.clone(), circle.count(), start)
    })
}

/// In which of several nodes the threads with `index` belong, of `n` indices in all: they are spread over the nodes by how many CPUs each has,
/// neighbours beside each other. `cpus` has at least one CPU.
///
/// ```
/// let nodes: Vec<usize> = (0..4).map(|index| heist_policy::node_of_index(index, 4, &[2, 6])).collect();
/// assert_eq!(nodes, [0, 1, 1, 1]);
/// ```
#[must_use]
pub fn node_of_index(index: usize, n: usize, cpus: &[usize]) -> usize {
    let all: usize = cpus.iter().sum();
    // The indices that a pool has got since begin again from the first.
    let mut place = (index % n.max(1)) * all / n.max(1);
    for (node, &here) in cpus.iter().enumerate() {
        if place < here {
            return node;
        }
        place -= here;
    }
    0
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
    fn by_node_every_other_worker_comes_exactly_once_and_nearest_first() {
        let tables: [&[u8]; 7] =
            [&[], &[0], &[0, 0, 0], &[0, 1], &[1, 0, 1, 0], &[2, 1, 0, 0, 1, 2, 2], &[3, 3, 0, 1, 2, 254]];
        for ranks in tables {
            for me in 0..ranks.len() + 2 {
                for start in (0..ranks.len() + 2).chain(STARTS) {
                    let order: Vec<usize> = victims_by_node(ranks, start, me).collect();
                    each_other_once(&order, ranks.len(), me);
                    assert!(order.is_sorted_by_key(|&v| ranks[v]), "{ranks:?} {order:?}");
                }
            }
        }
    }

    /// A rank that is not the whole circle has no member that inherits the visits meant for others.
    #[test]
    fn by_node_each_of_a_rank_comes_first_equally_often() {
        let ranks = [0, 0, 0, 0, 1, 1, 1, 2, 0];
        for me in 0..ranks.len() {
            let mut firsts = std::vec![0; ranks.len()];
            for start in 0..4 * 3 * 5 * 2 {
                let order: Vec<usize> = victims_by_node(&ranks, start, me).collect();
                for rank in 0..3 {
                    if let Some(&first) = order.iter().find(|&&v| ranks[v] == rank) {
                        firsts[first] += 1;
                    }
                }
            }
            for rank in 0..3 {
                let of_rank: Vec<_> = (0..ranks.len()).filter(|&v| v != me && ranks[v] == rank).collect();
                for &v in &of_rank {
                    assert_eq!(firsts[v], 120 / of_rank.len(), "me {me}, victim {v}");
                }
            }
        }
    }

    /// With one rank it is the order of a machine with one node.
    #[test]
    fn by_node_with_one_node_is_the_plain_order() {
        for n in 0..6 {
            for me in 0..n + 1 {
                for start in 0..9 {
                    let by_node: Vec<usize> = victims_by_node(&std::vec![0; n], start, me).collect();
                    assert_eq!(by_node, victims(n, start, me).collect::<Vec<_>>());
                }
            }
        }
    }

    #[test]
    fn indices_are_spread_by_cpus() {
        let spread = |n: usize, cpus: &[usize]| {
            let mut count = std::vec![0; cpus.len()];
            let nodes: Vec<usize> = (0..n).map(|index| node_of_index(index, n, cpus)).collect();
            assert!(nodes.is_sorted(), "neighbours are beside each other: {nodes:?}");
            nodes.into_iter().for_each(|node| count[node] += 1);
            count
        };
        assert_eq!(spread(8, &[4, 4]), [4, 4]);
        assert_eq!(spread(16, &[4, 4]), [8, 8]);
        assert_eq!(spread(2, &[4, 4]), [1, 1]);
        assert_eq!(spread(1, &[4, 4]), [1, 0]);
        assert_eq!(spread(4, &[1, 1, 1, 1]), [1, 1, 1, 1]);
        assert_eq!(spread(8, &[2, 6]), [2, 6]);
        assert_eq!(spread(6, &[0, 3, 0]), [0, 6, 0]);
        assert_eq!(node_of_index(9, 8, &[4, 4]), node_of_index(1, 8, &[4, 4]));
    }

    #[test]
    fn a_lonely_worker_has_no_victims() {
        assert_eq!(victims(1, 7, 0).next(), None);
        assert_eq!(victims(0, 7, 0).next(), None);
    }
}
