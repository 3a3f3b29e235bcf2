//! What the parallel sorts must agree about with the standard library's, whatever the input and the pool.

use heist::{ThreadPool, ThreadPoolBuilder};
use heist_iter::slice::ParallelSliceMut;
use std::cmp::Ordering;

/// Pools of several sizes: alone, two, and more threads than a partition of the longest input has pieces.
fn pools() -> Vec<ThreadPool> {
    [1, 2, 7].map(|threads| ThreadPoolBuilder::new().num_threads(threads).build().unwrap()).into()
}

/// Lengths around every threshold, and a few that are far from all of them.
fn lengths() -> Vec<usize> {
    let mut lengths = vec![0, 1, 2, 3, 20, 21, 1000];
    for threshold in [1 << 10, 1 << 14, 1 << 15] {
        lengths.extend([threshold - 1, threshold, threshold + 1]);
    }
    let mut random = fastrand::Rng::with_seed(0x5ee5);
    lengths.extend((0..4).map(|_| random.usize(8000..70_000)));
    lengths
}

/// Named patterns of `len` keys.
fn patterns(len: usize) -> Vec<(&'static str, Vec<u32>)> {
    let mut random = fastrand::Rng::with_seed(len as u64);
    let n = len as u32;
    let up = || 0..n;
    let mut one_off: Vec<u32> = up().collect();
    if len > 2 {
        one_off.swap(len / 3, len - 1);
    }
    vec![
        ("random", (0..len).map(|_| random.u32(..)).collect()),
        ("sorted", up().collect()),
        ("reversed", up().rev().collect()),
        ("reversed in pairs", up().rev().map(|k| k / 2).collect()),
        ("equal", vec![7; len]),
        ("two values", (0..len).map(|_| random.u32(..2)).collect()),
        (
            "mostly one value",
            (0..len).map(|_| if random.u32(..10) == 0 { random.u32(..) } else { 7 }).collect(),
        ),
        ("few values", (0..len).map(|_| random.u32(..17)).collect()),
        ("many twins", (0..len).map(|_| random.u32(..n.max(2) / 2)).collect()),
        ("one out of place", one_off),
        ("organ pipe", up().map(|k| k.min(n - k)).collect()),
        ("saw", up().map(|k| k % 1000).collect()),
        ("two runs", up().map(|k| k * 2 % (n | 1)).collect()),
        ("random tail", up().map(|k| if k > n - n / 50 { random.u32(..n) } else { k }).collect()),
    ]
}

#[test]
fn unstable_sorts_agree_with_the_standard_library() {
    let pools = pools();
    for len in lengths() {
        for (name, keys) in patterns(len) {
            let mut expected = keys.clone();
            expected.sort_unstable();
            for pool in &pools {
                let mut v = keys.clone();
                pool.install(|| v.par_sort_unstable());
                assert!(v == expected, "{len}, {name}, {pool:?}");
            }
        }
    }
}

#[test]
fn stable_sorts_keep_the_order_of_equals() {
    let pools = pools();
    for len in lengths() {
        for (name, keys) in patterns(len) {
            let pairs: Vec<(u32, usize)> = keys.into_iter().zip(0..).collect();
            let mut expected = pairs.clone();
            expected.sort_unstable();
            for pool in &pools {
                let mut v = pairs.clone();
                pool.install(|| v.par_sort_by(|a, b| a.0.cmp(&b.0)));
                assert!(v == expected, "{len}, {name}, {pool:?}");
            }
        }
    }
}

#[test]
fn cached_keys_keep_the_order_of_equals() {
    for len in [0, 1, 2, 100, 8193, 20_000] {
        for (name, keys) in patterns(len) {
            let mut v: Vec<(u32, usize)> = keys.into_iter().zip(0..).collect();
            let mut expected = v.clone();
            expected.sort_unstable();
            v.par_sort_by_cached_key(|pair| pair.0);
            assert!(v == expected, "{len}, {name}");
        }
    }
}

#[test]
fn short_slices_are_shared_if_comparisons_are_slow() {
    use heist_sync::atomic::{AtomicUsize, Ordering::Relaxed};
    let pool = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    for len in [1024, 1025, 1500, 2047, 2048, 3000, 5000] {
        let threads: [AtomicUsize; 3] = Default::default();
        let slowly = |a: &(u32, usize), b: &(u32, usize)| {
            threads[heist::current_thread_index().unwrap()].fetch_add(1, Relaxed);
            (0..100).for_each(|i| _ = std::hint::black_box(i));
            a.0.cmp(&b.0)
        };
        for (name, keys) in patterns(len) {
            let pairs: Vec<(u32, usize)> = keys.into_iter().zip(0..).collect();
            let mut v = pairs.clone();
            pool.install(|| v.par_sort_by(slowly));
            assert!(v.is_sorted(), "{len}, {name}");
            v = pairs;
            pool.install(|| v.par_sort_unstable_by(slowly));
            assert!(v.is_sorted_by_key(|pair| pair.0), "{len}, {name}");
        }
        let helped = threads.iter().filter(|compared| compared.load(Relaxed) > 0).count();
        assert!(helped > 1, "only {helped} of three threads compared anything of {len}");
    }
}

#[test]
fn every_name_sorts() {
    let mut random = fastrand::Rng::with_seed(10);
    let input: Vec<i32> = (0..50_000).map(|_| random.i32(-1000..1000)).collect();
    let check = |name: &str, sort: &dyn Fn(&mut [i32]), key: &dyn Fn(i32) -> i32| {
        let mut v = input.clone();
        sort(&mut v);
        assert!(v.is_sorted_by_key(|&k| key(k)), "{name}");
    };
    check("par_sort", &|v| v.par_sort(), &|k| k);
    check("par_sort_by", &|v| v.par_sort_by(|a, b| b.cmp(a)), &|k| -k);
    check("par_sort_by_key", &|v| v.par_sort_by_key(|k| k.abs()), &i32::abs);
    check("par_sort_by_cached_key", &|v| v.par_sort_by_cached_key(|k| k.abs()), &i32::abs);
    check("par_sort_unstable", &|v| v.par_sort_unstable(), &|k| k);
    check("par_sort_unstable_by", &|v| v.par_sort_unstable_by(|a, b| b.cmp(a)), &|k| -k);
    check("par_sort_unstable_by_key", &|v| v.par_sort_unstable_by_key(|k| k.abs()), &i32::abs);
}

#[test]
fn elements_of_many_sizes_are_sorted() {
    fn check<const N: usize>(random: &mut fastrand::Rng) {
        let input: Vec<[u32; N]> = (0..40_000).map(|_| [random.u32(..); N]).collect();
        let mut expected = input.clone();
        expected.sort();
        let mut v = input.clone();
        v.par_sort();
        assert!(v == expected, "par_sort of {N} words");
        v = input;
        v.par_sort_unstable();
        assert!(v == expected, "par_sort_unstable of {N} words");
    }
    let random = &mut fastrand::Rng::with_seed(64);
    check::<1>(random);
    check::<3>(random);
    check::<24>(random);
    check::<25>(random);
    check::<100>(random);
}

#[test]
fn strings_are_sorted() {
    // The longest is long enough for two threads to group parts of it by buckets, in place.
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    for (len, below) in [(30_000, 1 << 20), (100_000, 1 << 20), (100_000, 9), ((1 << 20) + 5000, u32::MAX)] {
        let mut random = fastrand::Rng::with_seed(3);
        let input: Vec<String> = (0..len).map(|_| format!("{:x}", random.u32(..below))).collect();
        let mut expected = input.clone();
        expected.sort();
        let mut v = input.clone();
        pool.install(|| v.par_sort());
        assert!(v == expected, "par_sort of {len}");
        v = input;
        pool.install(|| v.par_sort_unstable());
        assert!(v == expected, "par_sort_unstable of {len}");
    }
}

#[test]
fn elements_that_own_something_keep_the_order_of_equals() {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    for len in [1 << 15, (1 << 15) + 1, (1 << 17) + 77] {
        for (name, keys) in patterns(len) {
            let input: Vec<Box<(u32, usize)>> = keys.into_iter().zip(0..).map(Box::new).collect();
            let mut expected = input.clone();
            expected.sort_unstable();
            let mut v = input;
            pool.install(|| v.par_sort_by_key(|pair| pair.0));
            assert!(v == expected, "{len}, {name}");
        }
    }
}

#[test]
fn elements_without_a_size_stay() {
    for len in [0, 1, 100_000] {
        let mut v = vec![(); len];
        v.par_sort();
        v.par_sort_unstable_by(|(), ()| Ordering::Greater);
        v.par_sort_by_cached_key(|()| 1);
        assert_eq!(v.len(), len);
    }
}
