//! Slices, strings and collections in parallel against the same in sequence.

use heist_iter::prelude::*;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};

const LENGTHS: [usize; 8] = [0, 1, 2, 3, 10, 99, 100, 1234];

#[test]
fn chunks_are_those_of_the_standard_library() {
    for len in LENGTHS {
        let v: Vec<usize> = (0..len).collect();
        for size in [1, 2, 3, 7, 100, 5000, usize::MAX] {
            assert!(v.par_chunks(size).collect::<Vec<_>>().into_iter().eq(v.chunks(size)), "{len}, {size}");
            assert!(v.par_rchunks(size).collect::<Vec<_>>().into_iter().eq(v.rchunks(size)), "{len}, {size}");
            let exact = v.par_chunks_exact(size);
            assert_eq!(exact.remainder(), v.chunks_exact(size).remainder());
            assert!(exact.collect::<Vec<_>>().into_iter().eq(v.chunks_exact(size)), "{len}, {size}");
            let exact = v.par_rchunks_exact(size);
            assert_eq!(exact.remainder(), v.rchunks_exact(size).remainder());
            assert!(exact.collect::<Vec<_>>().into_iter().eq(v.rchunks_exact(size)), "{len}, {size}");
            assert!(v.par_windows(size).collect::<Vec<_>>().into_iter().eq(v.windows(size)), "{len}, {size}");
        }
        assert!(v.par_array_windows::<3>().collect::<Vec<_>>().into_iter().eq(v.windows(3)), "{len}");
    }
}

#[test]
fn chunks_are_indexed() {
    let v: Vec<usize> = (0..1000).collect();
    // From both ends, with a cut in between, and with lengths that do not divide.
    assert!(v.par_chunks(7).rev().skip(3).collect::<Vec<_>>().into_iter().eq(v.chunks(7).rev().skip(3)));
    assert!(v.par_rchunks(7).rev().skip(3).collect::<Vec<_>>().into_iter().eq(v.rchunks(7).rev().skip(3)));
    assert!(v.par_windows(7).rev().take(31).collect::<Vec<_>>().into_iter().eq(v.windows(7).rev().take(31)));
    assert_eq!((v.par_chunks(7).len(), v.par_chunks_exact(7).len(), v.par_windows(7).len()), (143, 142, 994));
    assert_eq!(v.par_windows(1001).len(), 0);
    let nothing = [(); usize::MAX];
    assert_eq!(nothing.par_windows(1).len(), usize::MAX);
    assert_eq!(nothing.par_chunks(usize::MAX - 1).len(), 2);
    assert_eq!(nothing.par_chunks(usize::MAX - 1).map(|chunk| chunk.len()).max(), Some(usize::MAX - 1));
    assert_eq!(nothing.par_rchunks(usize::MAX - 1).map(|chunk| chunk.len()).min(), Some(1));
}

#[test]
fn mutable_chunks_are_those_of_the_standard_library() {
    for len in LENGTHS {
        for size in [1, 2, 7, 100, 5000] {
            let check = |name: &str, parallel: &dyn Fn(&mut [usize]), serial: &dyn Fn(&mut [usize])| {
                let (mut a, mut b) = (vec![0; len], vec![0; len]);
                parallel(&mut a);
                serial(&mut b);
                assert_eq!(a, b, "{name} of {len} by {size}");
            };
            check(
                "chunks",
                &|v| v.par_chunks_mut(size).enumerate().for_each(|(i, chunk)| chunk.fill(i)),
                &|v| v.chunks_mut(size).enumerate().for_each(|(i, chunk)| chunk.fill(i)),
            );
            check(
                "rchunks",
                &|v| v.par_rchunks_mut(size).enumerate().for_each(|(i, chunk)| chunk.fill(i)),
                &|v| v.rchunks_mut(size).enumerate().for_each(|(i, chunk)| chunk.fill(i)),
            );
            check(
                "chunks_exact",
                &|v| v.par_chunks_exact_mut(size).enumerate().for_each(|(i, chunk)| chunk.fill(i + 1)),
                &|v| v.chunks_exact_mut(size).enumerate().for_each(|(i, chunk)| chunk.fill(i + 1)),
            );
            check(
                "rchunks_exact",
                &|v| v.par_rchunks_exact_mut(size).enumerate().for_each(|(i, chunk)| chunk.fill(i + 1)),
                &|v| v.rchunks_exact_mut(size).enumerate().for_each(|(i, chunk)| chunk.fill(i + 1)),
            );
        }
    }
}

#[test]
fn sizes_of_zero_are_refused() {
    let refused = |f: &dyn Fn(&mut [u8])| {
        let f = std::panic::AssertUnwindSafe(|| f(&mut [1, 2]));
        std::panic::catch_unwind(f).is_err()
    };
    assert!(refused(&|v| _ = v.par_chunks(0)) && refused(&|v| _ = v.par_chunks_mut(0)));
    assert!(refused(&|v| _ = v.par_rchunks(0)) && refused(&|v| _ = v.par_rchunks_mut(0)));
    assert!(refused(&|v| _ = v.par_chunks_exact(0)) && refused(&|v| _ = v.par_chunks_exact_mut(0)));
    assert!(refused(&|v| _ = v.par_rchunks_exact(0)) && refused(&|v| _ = v.par_rchunks_exact_mut(0)));
    assert!(refused(&|v| _ = v.par_windows(0)) && refused(&|v| _ = v.par_array_windows::<0>()));
}

/// Sequences in which `0` separates: none, only, at the ends, in a row, far apart.
fn separated() -> Vec<Vec<u8>> {
    let mut random = fastrand::Rng::with_seed(0);
    let mut all = vec![
        vec![],
        vec![0],
        vec![1],
        vec![0, 0],
        vec![0, 1, 0],
        vec![1, 0, 1],
        vec![1; 1000],
        vec![0; 1000],
        [vec![1; 999], vec![0]].concat(),
        [vec![0], vec![1; 999]].concat(),
    ];
    for values in [2, 3, 10, 200] {
        for len in [5, 64, 1000, 20_000] {
            all.push((0..len).map(|_| random.u8(..values)).collect());
        }
    }
    all
}

#[test]
fn splits_are_those_of_the_standard_library() {
    for v in separated() {
        let is_separator = |&b: &u8| b == 0;
        assert!(v.par_split(is_separator).collect::<Vec<_>>().into_iter().eq(v.split(is_separator)), "{v:?}");
        let inclusive: Vec<_> = v.par_split_inclusive(is_separator).collect();
        assert!(inclusive.into_iter().eq(v.split_inclusive(is_separator)), "{v:?}");
        assert!(v.par_chunk_by(u8::le).collect::<Vec<_>>().into_iter().eq(v.chunk_by(u8::le)), "{v:?}");

        let mut a = v.clone();
        a.par_split_mut(is_separator).for_each(|piece| piece.reverse());
        a.par_split_inclusive_mut(is_separator).for_each(|piece| piece.rotate_left(1));
        a.par_chunk_by_mut(u8::le).for_each(|piece| piece.reverse());
        let mut b = v.clone();
        b.split_mut(is_separator).for_each(|piece| piece.reverse());
        b.split_inclusive_mut(is_separator).for_each(|piece| piece.rotate_left(1));
        b.chunk_by_mut(u8::le).for_each(|piece| piece.reverse());
        assert_eq!(a, b, "{v:?}");
    }
}

#[test]
fn splitting_looks_at_each_element_a_few_times_only() {
    use heist_sync::atomic::{AtomicUsize, Ordering::Relaxed};
    for v in [vec![1u8; 100_000], [vec![1; 99_999], vec![0]].concat(), [vec![0], vec![1; 99_999]].concat()] {
        let looks = AtomicUsize::new(0);
        let is_separator = |&b: &u8| {
            looks.fetch_add(1, Relaxed);
            b == 0
        };
        assert_eq!(v.par_split(is_separator).count(), v.split(|&b| b == 0).count());
        assert_eq!(
            v.par_split_inclusive(is_separator).count(),
            1 + v[..v.len() - 1].iter().filter(|&&b| b == 0).count()
        );
        assert!(
            looks.into_inner() <= 2 * 3 * v.len(),
            "each element may be met by a search or two and by the fold"
        );
    }
}

#[test]
fn text_is_that_of_the_standard_library() {
    let mut texts: Vec<String> =
        ["", "a", "\n", "\r\n", "a\r", "a\n\nb", " \t a", "äöü", "𝄞a𝄞", "a,b,,c,", ",", ",,"]
            .map(String::from)
            .into();
    let mut random = fastrand::Rng::with_seed(9);
    let letters: Vec<char> = "ab,;\r\n\t \u{a0}äß\u{2028}𝄞語".chars().collect();
    for len in [10, 100, 10_000] {
        texts.push((0..len).map(|_| letters[random.usize(..letters.len())]).collect());
        texts.push((0..len).map(|i| if i + 1 == len { ',' } else { '語' }).collect());
    }
    for text in &texts {
        macro_rules! same {
            ($parallel:expr, $serial:expr) => {
                assert!(
                    $parallel.collect::<Vec<_>>().into_iter().eq($serial),
                    "{} of {text:?}",
                    stringify!($serial)
                )
            };
        }
        same!(text.par_chars(), text.chars());
        same!(text.par_char_indices(), text.char_indices());
        same!(text.par_bytes(), text.bytes());
        same!(text.par_encode_utf16(), text.encode_utf16());
        same!(text.par_lines(), text.lines());
        same!(text.par_split_whitespace(), text.split_whitespace());
        same!(text.par_split_ascii_whitespace(), text.split_ascii_whitespace());
        macro_rules! same_by {
            ($pattern:expr) => {
                same!(text.par_split($pattern), text.split($pattern));
                same!(text.par_split_inclusive($pattern), text.split_inclusive($pattern));
                same!(text.par_split_terminator($pattern), text.split_terminator($pattern));
                same!(text.par_matches($pattern), text.matches($pattern));
                same!(text.par_match_indices($pattern), text.match_indices($pattern));
            };
        }
        same_by!(',');
        same_by!('語');
        same_by!([',', 'ß']);
        same_by!(&[',', 'ß']);
        same_by!(&[',', 'ß', 'a'][..]);
        same_by!(char::is_alphabetic);
        same_by!(|c: char| c.is_ascii());
    }
}

#[test]
fn collections_yield_what_they_hold() {
    let v: Vec<u32> = (0..1000).collect();
    let pairs: Vec<(u32, u32)> = v.iter().map(|&k| (k, k * 2)).collect();

    let set: BTreeSet<u32> = v.iter().copied().collect();
    assert!(set.par_iter().copied().eq_serial(&v) && set.into_par_iter().eq_serial(&v));
    let mut map: BTreeMap<u32, u32> = pairs.iter().copied().collect();
    map.par_iter_mut().for_each(|(k, value)| *value += k);
    assert!(
        map.par_iter()
            .map(|(&k, &value)| value - k)
            .eq_serial(&pairs.iter().map(|p| p.1).collect::<Vec<_>>())
    );
    assert_eq!(map.into_par_iter().map(|(k, value)| value - k * 3).sum::<u32>(), 0);

    let mut list: LinkedList<u32> = v.iter().copied().collect();
    list.par_iter_mut().for_each(|x| *x ^= 1);
    list.par_iter_mut().for_each(|x| *x ^= 1);
    assert!(list.par_iter().copied().eq_serial(&v) && list.into_par_iter().eq_serial(&v));

    let mut hash: HashMap<u32, u32> = pairs.iter().copied().collect();
    hash.par_iter_mut().for_each(|(_, value)| *value += 1);
    assert_eq!(hash.par_iter().map(|(k, value)| value - k * 2).sum::<u32>(), 1000);
    let capacity = hash.capacity();
    assert_eq!(hash.par_drain().map(|(k, value)| value - k * 2).sum::<u32>(), 1000);
    assert!(hash.is_empty() && hash.capacity() == capacity);

    let mut hash: HashSet<u32> = v.iter().copied().collect();
    assert_eq!(hash.par_iter().sum::<u32>(), hash.clone().into_par_iter().sum());
    assert_eq!(hash.par_drain().count(), 1000);
    assert!(hash.is_empty());

    let mut heap: BinaryHeap<u32> = v.iter().copied().collect();
    assert_eq!((heap.par_iter().len(), heap.clone().into_par_iter().len()), (1000, 1000));
    let capacity = heap.capacity();
    drop(heap.clone().par_drain());
    assert_eq!(heap.par_drain().sum::<u32>(), v.iter().sum());
    assert!(heap.is_empty() && heap.capacity() == capacity);
}

trait EqSerial {
    fn eq_serial(self, expected: &[u32]) -> bool;
}

impl<I: ParallelIterator<Item = u32>> EqSerial for I {
    fn eq_serial(self, expected: &[u32]) -> bool {
        self.collect::<Vec<_>>() == expected
    }
}

#[test]
fn a_queue_in_two_halves_is_one() {
    for rotation in [0, 1, 50, 99] {
        let mut queue: VecDeque<u32> = VecDeque::with_capacity(100);
        queue.extend(0..rotation);
        queue.extend(0..100);
        queue.drain(..rotation as usize);
        let v: Vec<u32> = (0..100).collect();
        assert!(queue.par_iter().copied().eq_serial(&v));
        assert!(queue.par_iter().rev().copied().collect::<Vec<_>>().into_iter().rev().eq(v.iter().copied()));
        queue.par_iter_mut().enumerate().for_each(|(i, x)| *x += i as u32);
        assert!(queue.clone().into_par_iter().eq_serial(&v.iter().map(|x| x * 2).collect::<Vec<_>>()));
        assert_eq!(queue.par_drain(10..=19).len(), 10);
        assert_eq!((queue.len(), queue[9], queue[10]), (90, 18, 40));
        assert_eq!(queue.par_drain(..5).sum::<u32>(), 20);
        assert_eq!((queue.len(), queue[0]), (85, 10));
    }
}
