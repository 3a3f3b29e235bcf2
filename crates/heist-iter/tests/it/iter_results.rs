//! Parallel iterators give what sequential ones give, for all lengths around the interesting ones.

use heist::{ThreadPool, ThreadPoolBuilder};
use heist_iter::iter::{self, Either};
use heist_iter::prelude::*;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::sync::LazyLock;

const LENGTHS: [usize; 10] = [0, 1, 2, 3, 7, 33, 100, 1_000, 5_003, 20_011];

fn pools() -> &'static [ThreadPool] {
    static POOLS: LazyLock<[ThreadPool; 3]> = LazyLock::new(|| {
        [1, 2, 5].map(|workers| ThreadPoolBuilder::new().num_threads(workers).build().unwrap())
    });
    &*POOLS
}

/// Compares for every length and pool what both sides make of `0..len`.
fn check<T, P, S>(parallel: P, sequential: S)
where
    T: PartialEq + std::fmt::Debug + Send,
    P: Fn(Vec<u32>) -> T + Sync,
    S: Fn(Vec<u32>) -> T,
{
    for pool in pools() {
        for len in LENGTHS {
            let input: Vec<u32> = (0..len as u32).collect();
            let got = pool.install(|| parallel(input.clone()));
            assert!(got == sequential(input), "{len} items on {} workers", pool.current_num_threads());
        }
    }
}

#[test]
fn one_to_one() {
    check(
        |v| v.into_par_iter().map(|n| n ^ 5).inspect(|_| ()).update(|n| *n += 1).collect::<Vec<_>>(),
        |v| v.into_iter().map(|n| (n ^ 5) + 1).collect(),
    );
    check(|v| v.par_iter().copied().rev().collect::<Vec<_>>(), |v| v.iter().copied().rev().collect());
    check(|v| v.par_iter().cloned().rev().collect::<Vec<_>>(), |v| v.iter().cloned().rev().collect());
    check(
        |v| v.par_iter().map(|n| n + 1).zip(v.par_iter().map(|n| n * 2)).rev().collect::<Vec<_>>(),
        |v| v.iter().map(|n| n + 1).zip(v.iter().map(|n| n * 2)).rev().collect(),
    );
    check(
        |v| v.into_par_iter().map_with(3, |three, n| n + *three).rev().collect::<Vec<_>>(),
        |v| v.into_iter().map(|n| n + 3).rev().collect(),
    );
    check(
        |v| v.into_par_iter().map_init(|| 3, |three, n| n + *three).zip(0..u32::MAX).collect::<Vec<_>>(),
        |v| v.into_iter().map(|n| n + 3).zip(0..u32::MAX).collect(),
    );
}

#[test]
fn filters() {
    check(
        |v| v.into_par_iter().filter(|n| n % 3 == 0).collect::<Vec<_>>(),
        |v| v.into_iter().filter(|n| n % 3 == 0).collect(),
    );
    check(
        |v| v.into_par_iter().filter_map(|n| n.checked_sub(500)).collect::<Vec<_>>(),
        |v| v.into_iter().filter_map(|n| n.checked_sub(500)).collect(),
    );
    check(
        |v| v.into_par_iter().positions(|n| n % 7 == 3).collect::<Vec<_>>(),
        |v| v.into_iter().enumerate().filter(|(_, n)| n % 7 == 3).map(|(i, _)| i).collect(),
    );
    check(|v| v.into_par_iter().take_any(10).count(), |v| v.len().min(10));
    check(|v| v.into_par_iter().skip_any(10).count(), |v| v.len().saturating_sub(10));
}

#[test]
fn nesting() {
    check(
        |v| v.into_par_iter().flat_map(|n| 0..n % 5).collect::<Vec<_>>(),
        |v| v.into_iter().flat_map(|n| 0..n % 5).collect(),
    );
    check(
        |v| v.into_par_iter().flat_map_iter(|n| 0..n % 5).collect::<Vec<_>>(),
        |v| v.into_iter().flat_map(|n| 0..n % 5).collect(),
    );
    check(
        |v| v.into_par_iter().map(|n| vec![n; n as usize % 3]).flatten().collect::<Vec<_>>(),
        |v| v.into_iter().flat_map(|n| vec![n; n as usize % 3]).collect(),
    );
    check(
        |v| v.into_par_iter().map(|n| (n % 2 == 0).then_some(n)).flatten_iter().collect::<Vec<_>>(),
        |v| v.into_iter().filter(|n| n % 2 == 0).collect(),
    );
}

#[test]
fn shapes() {
    check(
        |v| v.into_par_iter().chain(5..50).enumerate().collect::<Vec<_>>(),
        |v| v.into_iter().chain(5..50).enumerate().collect(),
    );
    check(
        |v| v.into_par_iter().chain(5..50).rev().collect::<Vec<_>>(),
        |v| v.into_iter().chain(5..50).rev().collect(),
    );
    for n in [0, 1, 10, 500, usize::MAX] {
        check(
            |v| v.into_par_iter().skip(n).map(|n| n + 1).collect::<Vec<_>>(),
            |v| v.into_iter().skip(n).map(|n| n + 1).collect(),
        );
        check(
            |v| v.into_par_iter().take(n).map(|n| n + 1).collect::<Vec<_>>(),
            |v| v.into_iter().take(n).map(|n| n + 1).collect(),
        );
    }
    for n in [1, 2, 10, 500, usize::MAX] {
        check(
            |v| v.into_par_iter().step_by(n).rev().collect::<Vec<_>>(),
            |v| v.into_iter().step_by(n).rev().collect(),
        );
        check(
            |v| v.into_par_iter().chunks(n).collect::<Vec<_>>(),
            |v| v.chunks(n).map(<[u32]>::to_vec).collect(),
        );
        check(
            |v| v.into_par_iter().chunks(n).rev().collect::<Vec<_>>(),
            |v| v.chunks(n).map(<[u32]>::to_vec).rev().collect(),
        );
        check(
            |v| v.into_par_iter().fold_chunks(n, || 7u64, |a, b| a + u64::from(b)).collect::<Vec<_>>(),
            |v| v.chunks(n).map(|c| c.iter().fold(7, |a, b| a + u64::from(*b))).collect(),
        );
        check(
            |v| {
                v.into_par_iter().fold_chunks_with(n, 7u64, |a, b| a + u64::from(b)).rev().collect::<Vec<_>>()
            },
            |v| v.chunks(n).map(|c| c.iter().fold(7, |a, b| a + u64::from(*b))).rev().collect(),
        );
        check(
            |v| v.into_par_iter().by_uniform_blocks(n).map(|n| n + 1).collect::<Vec<_>>(),
            |v| v.into_iter().map(|n| n + 1).collect(),
        );
    }
    check(
        |v| v.into_par_iter().by_exponential_blocks().map(|n| n + 1).collect::<Vec<_>>(),
        |v| v.into_iter().map(|n| n + 1).collect(),
    );
}

/// What `interleave` promises, written down naively.
fn interleaved(a: &[u32], b: &[u32]) -> Vec<u32> {
    let (mut a, mut b) = (a.iter(), b.iter());
    let mut out = Vec::new();
    loop {
        let (x, y) = (a.next(), b.next());
        out.extend(x);
        out.extend(y);
        if x.is_none() && y.is_none() {
            return out;
        }
    }
}

#[test]
fn interleaving() {
    for other in [0usize, 1, 2, 15, 500, 9_000] {
        let b: Vec<u32> = (1_000_000..).take(other).collect();
        check(|v| v.par_iter().interleave(&b).copied().collect::<Vec<_>>(), |v| interleaved(&v, &b));
        check(
            |v| v.par_iter().interleave(&b).copied().rev().collect::<Vec<_>>(),
            |v| interleaved(&v, &b).into_iter().rev().collect(),
        );
        check(
            |v| v.par_iter().interleave_shortest(&b).copied().collect::<Vec<_>>(),
            |v| {
                let of_v = v.len().min(b.len() + 1);
                interleaved(&v[..of_v], &b[..of_v.min(b.len())])
            },
        );
    }
}

#[test]
fn interspersing() {
    let expected = |v: Vec<u32>| {
        let mut out: Vec<u32> = v.into_iter().flat_map(|n| [n, 99]).collect();
        out.pop();
        out
    };
    check(|v| v.into_par_iter().intersperse(99).collect::<Vec<_>>(), expected);
    check(
        |v| v.into_par_iter().intersperse(99).rev().collect::<Vec<_>>(),
        |v| expected(v).into_iter().rev().collect(),
    );
    check(
        |v| v.into_par_iter().intersperse(99).fold(|| 0, |n, _| n + 1).sum::<usize>(),
        |v| expected(v).len(),
    );
    // Whole parts may turn out empty, at either end.
    for keep in [0..0, 0..1, 60..70, 500..1_000, 18_000..20_011] {
        check(
            |v| v.into_par_iter().filter(|n| keep.contains(n)).intersperse(99).collect::<Vec<_>>(),
            |v| expected(v.into_iter().filter(|n| keep.contains(n)).collect()),
        );
    }
}

#[test]
fn reductions() {
    check(|v| v.par_iter().map(|n| u64::from(*n)).sum::<u64>(), |v| v.iter().map(|n| u64::from(*n)).sum());
    check(
        |v| v.into_par_iter().map(|n| std::num::Wrapping(n | 1)).product::<std::num::Wrapping<u32>>(),
        |v| v.into_iter().map(|n| std::num::Wrapping(n | 1)).product(),
    );
    check(|v| v.into_par_iter().count(), |v| v.len());
    // Concatenation is associative but not commutative, so this sees any wrong order.
    let join = |mut a: Vec<u32>, b: Vec<u32>| {
        a.extend(b);
        a
    };
    check(|v| v.into_par_iter().map(|n| vec![n]).reduce(Vec::new, join), |v| v);
    check(
        |v| v.into_par_iter().map(|n| vec![n]).reduce_with(join),
        |v| if v.is_empty() { None } else { Some(v) },
    );
    check(|v| v.into_par_iter().map(|n| Some(vec![n])).try_reduce(Vec::new, |a, b| Some(join(a, b))), Some);
    check(
        |v| v.into_par_iter().map(|n| Ok::<_, ()>(vec![n])).try_reduce_with(|a, b| Ok(join(a, b))),
        |v| if v.is_empty() { None } else { Some(Ok(v)) },
    );
    let push = |mut a: Vec<u32>, n| {
        a.push(n);
        a
    };
    check(|v| v.into_par_iter().fold(Vec::new, push).reduce(Vec::new, join), |v| v);
    check(|v| v.into_par_iter().fold_with(Vec::new(), push).flatten().collect::<Vec<_>>(), |v| v);
    check(
        |v| {
            v.into_par_iter()
                .try_fold(Vec::new, |a, n| Some(push(a, n)))
                .try_reduce(Vec::new, |a, b| Some(join(a, b)))
        },
        Some,
    );
    check(
        |v| {
            v.into_par_iter()
                .try_fold_with(Vec::new(), |a, n| if n == 5 { Err(n) } else { Ok(push(a, n)) })
                .try_reduce(Vec::new, |a, b| Ok(join(a, b)))
        },
        |v| if v.len() > 5 { Err(5) } else { Ok(v) },
    );
}

#[test]
fn extremes() {
    // Keys repeat, so the choice among equals is seen too: the first least, the last greatest, as in std.
    check(|v| v.into_par_iter().min_by_key(|n| n % 10), |v| v.into_iter().min_by_key(|n| n % 10));
    check(|v| v.into_par_iter().max_by_key(|n| n % 10), |v| v.into_iter().max_by_key(|n| n % 10));
    let by = |a: &u32, b: &u32| (a % 10).cmp(&(b % 10));
    check(|v| v.into_par_iter().min_by(by), |v| v.into_iter().min_by(by));
    check(|v| v.into_par_iter().max_by(by), |v| v.into_iter().max_by(by));
    check(|v| v.into_par_iter().min(), |v| v.into_iter().min());
    check(|v| v.into_par_iter().max(), |v| v.into_iter().max());
}

#[test]
fn searches() {
    check(|v| v.into_par_iter().find_first(|n| n % 40 == 39), |v| v.into_iter().find(|n| n % 40 == 39));
    check(|v| v.into_par_iter().find_last(|n| n % 40 == 39), |v| v.into_iter().rfind(|n| n % 40 == 39));
    check(|v| v.into_par_iter().find_any(|n| *n == 77), |v| v.into_iter().find(|n| *n == 77));
    check(|v| v.into_par_iter().position_first(|n| n % 40 == 39), |v| v.iter().position(|n| n % 40 == 39));
    check(|v| v.into_par_iter().position_last(|n| n % 40 == 39), |v| v.iter().rposition(|n| n % 40 == 39));
    check(|v| v.into_par_iter().position_any(|n| n == 39), |v| v.iter().position(|n| *n == 39));
    check(|v| v.into_par_iter().any(|n| n == 999), |v| v.contains(&999));
    check(|v| v.into_par_iter().all(|n| n != 999), |v| !v.contains(&999));
    check(
        |v| v.into_par_iter().find_map_first(|n| n.checked_sub(50)),
        |v| v.into_iter().find_map(|n| n.checked_sub(50)),
    );
    check(
        |v| v.into_par_iter().find_map_last(|n| 50u32.checked_sub(n)),
        |v| v.into_iter().rev().find_map(|n| 50u32.checked_sub(n)),
    );
    check(
        |v| v.into_par_iter().find_map_any(|n| (n == 50).then_some('x')),
        |v| v.contains(&50).then_some('x'),
    );
}

#[test]
fn comparisons() {
    let other: Vec<u32> = (0..100).chain([5]).chain(101..1000).collect();
    check(|v| v.par_iter().cmp(&other), |v| v.iter().cmp(&other));
    check(|v| v.par_iter().partial_cmp(&other), |v| v.iter().partial_cmp(&other));
    check(|v| v.par_iter().eq(&other), |v| v.iter().eq(&other));
    check(|v| v.par_iter().eq(&v.clone()), |_| true);
    check(|v| v.par_iter().ne(&other), |v| v.iter().ne(&other));
    check(|v| v.par_iter().lt(&other), |v| v.iter().lt(&other));
    check(|v| v.par_iter().le(&other), |v| v.iter().le(&other));
    check(|v| v.par_iter().gt(&other), |v| v.iter().gt(&other));
    check(|v| v.par_iter().ge(&other), |v| v.iter().ge(&other));
    assert_eq!([f64::NAN].par_iter().partial_cmp(&[1.0]), None);
    assert!(![f64::NAN].par_iter().le(&[1.0]));
    assert_eq!([1, 2].par_iter().cmp(&[1]), Ordering::Greater);
}

#[test]
fn collections() {
    check(|v| v.into_par_iter().collect::<VecDeque<_>>(), |v| v.into());
    check(|v| v.into_par_iter().collect::<LinkedList<_>>(), |v| v.into_iter().collect());
    check(
        |v| v.into_par_iter().map(|n| n % 99).collect::<BTreeSet<_>>(),
        |v| v.into_iter().map(|n| n % 99).collect(),
    );
    check(
        |v| v.into_par_iter().map(|n| n % 99).collect::<HashSet<_>>(),
        |v| v.into_iter().map(|n| n % 99).collect(),
    );
    // Of equal keys the last value wins, as in std.
    check(
        |v| v.into_par_iter().map(|n| (n % 99, n)).collect::<BTreeMap<_, _>>(),
        |v| v.into_iter().map(|n| (n % 99, n)).collect(),
    );
    check(
        |v| v.into_par_iter().filter(|_| true).map(|n| (n % 99, n)).collect::<HashMap<_, _>>(),
        |v| v.into_iter().map(|n| (n % 99, n)).collect(),
    );
    check(|v| v.into_par_iter().collect::<BinaryHeap<_>>().into_sorted_vec(), |v| v);
    check(|v| v.into_par_iter().collect::<Box<[_]>>(), |v| v.into());
    check(|v| v.into_par_iter().collect::<std::sync::Arc<[_]>>(), |v| v.into());
    let digit = |n: u32| char::from_digit(n % 10, 10).unwrap();
    check(|v| v.into_par_iter().map(digit).collect::<String>(), |v| v.into_iter().map(digit).collect());
    check(
        |v| v.into_par_iter().map(|n| n.to_string()).collect::<String>(),
        |v| v.into_iter().map(|n| n.to_string()).collect(),
    );
    check(
        |v| v.into_par_iter().map(|n| (n, n + 1)).unzip::<_, _, Vec<_>, Vec<_>>(),
        |v| v.into_iter().map(|n| (n, n + 1)).unzip(),
    );
    check(
        |v| {
            v.into_par_iter()
                .filter(|n| n % 2 == 0)
                .map(|n| (n, (n + 1, n)))
                .collect::<(Vec<_>, (Vec<_>, Vec<_>))>()
        },
        |v| v.into_iter().filter(|n| n % 2 == 0).map(|n| (n, (n + 1, n))).unzip(),
    );
    check(
        |v| v.into_par_iter().partition::<Vec<_>, Vec<_>, _>(|n| n % 3 == 0),
        |v| v.into_iter().partition(|n| n % 3 == 0),
    );
    check(
        |v| {
            v.into_par_iter().partition_map::<Vec<_>, Vec<_>, _, _, _>(|n| {
                if n % 3 == 0 { Either::Left(n) } else { Either::Right(n.to_string()) }
            })
        },
        |v| {
            let (a, b): (Vec<_>, Vec<_>) = v.into_iter().partition(|n| n % 3 == 0);
            (a, b.into_iter().map(|n| n.to_string()).collect())
        },
    );
    check(|v| v.into_par_iter().collect_vec_list().into_iter().flatten().collect::<Vec<_>>(), |v| v);
    check(
        |v| v.into_par_iter().map(|n| if n == 77 { None } else { Some(n) }).collect::<Option<Vec<_>>>(),
        |v| v.into_iter().map(|n| if n == 77 { None } else { Some(n) }).collect(),
    );
    check(
        |v| v.into_par_iter().map(|n| if n == 77 { Err(n) } else { Ok(n) }).collect::<Result<Vec<_>, _>>(),
        |v| v.into_iter().map(|n| if n == 77 { Err(n) } else { Ok(n) }).collect(),
    );
}

#[test]
fn sources() {
    check(|v| iter::repeat_n(3u8, v.len()).collect::<Vec<_>>(), |v| vec![3; v.len()]);
    check(|v| iter::repeat(3u8).zip(v).collect::<Vec<_>>(), |v| v.into_iter().map(|n| (3, n)).collect());
    check(
        |v| {
            let mut out: Vec<u32> = v.into_iter().par_bridge().collect();
            out.sort_unstable();
            out
        },
        |v| v,
    );
    let halve = |v: Vec<u32>| {
        let mut left = v;
        if left.len() < 2 {
            return (left, None);
        }
        let right = left.split_off(left.len() / 2);
        (left, Some(right))
    };
    check(|v| iter::split(v, halve).flatten().collect::<Vec<_>>(), |v| v);
    check(
        |v| (v.clone(), v.clone(), v).into_par_iter().collect::<Vec<_>>(),
        |v| v.into_iter().map(|n| (n, n, n)).collect(),
    );
    check(
        |v| {
            if v.len() % 2 == 0 { Either::Left(v.into_par_iter()) } else { Either::Right(iter::once(1)) }
                .sum::<u32>()
        },
        |v| if v.len() % 2 == 0 { v.into_iter().fold(0, u32::wrapping_add) } else { 1 },
    );
    assert_eq!(iter::empty::<u8>().chain(iter::once(5)).collect::<Vec<_>>(), [5]);
}

#[test]
fn trees() {
    // A lopsided tree: node n has the children 2n and 2n + 1, and every tenth one a long tail.
    let children = |n: &u32| -> Vec<u32> {
        let n = *n;
        match n {
            0..5_000 => vec![2 * n + 1, 2 * n + 2],
            1_000_000..1_000_300 => vec![n + 1],
            _ if n.is_multiple_of(1_000) => vec![1_000_000],
            _ => vec![],
        }
    };
    fn walk(node: u32, prefix: bool, children: &impl Fn(&u32) -> Vec<u32>, out: &mut Vec<u32>) {
        if prefix {
            out.push(node);
        }
        for child in children(&node) {
            walk(child, prefix, children, out);
        }
        if !prefix {
            out.push(node);
        }
    }
    let (mut prefix, mut postfix) = (Vec::new(), Vec::new());
    walk(0, true, &children, &mut prefix);
    walk(0, false, &children, &mut postfix);
    for pool in pools() {
        pool.install(|| {
            assert_eq!(iter::walk_tree_prefix(0, children).collect::<Vec<_>>(), prefix);
            assert_eq!(iter::walk_tree_postfix(0, children).collect::<Vec<_>>(), postfix);
            assert_eq!(iter::walk_tree(0, children).count(), prefix.len());
            assert_eq!(iter::walk_tree_prefix(0, children).find_first(|n| *n == 999), Some(999));
        });
    }
}

/// What a step passes over is not cloned.
#[test]
fn a_step_clones_only_what_it_yields() {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    static CLONES: AtomicUsize = AtomicUsize::new(0);
    struct Counted;
    impl Clone for Counted {
        fn clone(&self) -> Self {
            CLONES.fetch_add(1, Relaxed);
            Counted
        }
    }
    let clones_of = |action: fn() -> usize, items: usize| {
        CLONES.store(0, Relaxed);
        assert_eq!(action(), items);
        CLONES.load(Relaxed)
    };
    // One for each item, and one for each cut that a thief may ask for.
    assert!(clones_of(|| iter::repeat_n(Counted, 100).step_by(99).count(), 2) <= 2);
    assert!(clones_of(|| iter::repeat_n(Counted, 100).rev().step_by(99).count(), 2) <= 2);
    assert!(clones_of(|| iter::repeat_n(Counted, 100).step_by(100).count(), 1) <= 1);
    assert!(clones_of(|| iter::repeat_n(Counted, 1 << 40).step_by(1 << 37).count(), 8) <= 16);
}
