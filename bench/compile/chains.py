"""Writes a program of some 150 chains of rayon's API, each adaptor, source and consumer at least once.

The program is the same for every library: `lib` is whoever provides the API. It prints one number, which must not
depend on the library, and ends.
"""

# Bodies of functions `fn(v: &[u64], s: &str) -> u64`. `mix` makes one number of anything that can be iterated over.
CHAINS = """
v.par_iter().sum::<u64>()
v.par_iter().map(|n| n % 7 + 1).take(20).product::<u64>()
v.par_iter().count() as u64
v.par_iter().len() as u64
*v.par_iter().min().unwrap()
*v.par_iter().max().unwrap()
*v.par_iter().min_by(|a, b| (*a % 100).cmp(&(*b % 100)).then(a.cmp(b))).unwrap()
*v.par_iter().max_by(|a, b| (*a % 100).cmp(&(*b % 100)).then(a.cmp(b))).unwrap()
*v.par_iter().min_by_key(|n| (*n % 1000, **n)).unwrap()
*v.par_iter().max_by_key(|n| (*n % 1000, **n)).unwrap()
v.par_iter().copied().reduce(|| 0, |a, b| a ^ b)
v.par_iter().cloned().reduce_with(u64::max).unwrap()
v.par_iter().map(|n| n.checked_add(1)).try_reduce(|| 0, |a, b| Some(a.max(b))).unwrap()
v.par_iter().map(|n| n.checked_add(1)).try_reduce_with(|a, b| Some(a.min(b))).unwrap().unwrap()
v.par_iter().fold(|| 0, |a, b| a ^ b).sum::<u64>() & 1
v.par_iter().fold_with(0, |a, b| a | b).reduce(|| 0, |a, b| a | b)
v.par_iter().try_fold(|| 0_u64, |a, b| a.checked_add(*b)).try_reduce(|| 0, |a, b| a.checked_add(b)).unwrap()
v.par_iter().try_fold_with(0_u64, |a, b| a.checked_add(*b)).map(|n| n.unwrap()).sum::<u64>()
{ let m = Mutex::new(0); v.par_iter().for_each(|n| *m.lock().unwrap() ^= n); m.into_inner().unwrap() }
{ let (t, r) = channel(); v.par_iter().for_each_with(t, |t, n| t.send(*n).unwrap()); r.iter().sum() }
{ let m = Mutex::new(0); v.par_iter().for_each_init(|| 1, |one, n| *m.lock().unwrap() += *n + *one); m.into_inner().unwrap() }
v.par_iter().try_for_each(|n| if *n < u64::MAX { Ok(()) } else { Err(*n) }).is_ok() as u64
v.par_iter().try_for_each_with(1, |one, n| n.checked_add(*one).map(|_| ())).is_some() as u64
v.par_iter().try_for_each_init(|| 1, |one, n| n.checked_add(*one).map(|_| ())).is_some() as u64
mix(v.par_iter().map(|n| n / 2).collect::<Vec<_>>())
mix(v.par_iter().map_with(3, |three, n| n / *three).collect::<Vec<_>>())
mix(v.par_iter().map_init(|| 5, |five, n| n / *five).collect::<Vec<_>>())
mix(v.par_iter().copied().inspect(|n| assert!(*n < u64::MAX)).collect::<Vec<_>>())
mix(v.par_iter().copied().update(|n| *n /= 3).collect::<Vec<_>>())
mix(v.par_iter().copied().filter(|n| n % 3 == 0).collect::<Vec<_>>())
mix(v.par_iter().filter_map(|n| n.checked_sub(1 << 20)).collect::<Vec<_>>())
mix(v.par_iter().flat_map(|n| (0..n % 4).into_par_iter()).collect::<Vec<_>>())
mix(v.par_iter().flat_map_iter(|n| 0..n % 4).collect::<Vec<_>>())
mix(v.par_iter().map(|n| vec![*n; 2]).flatten().collect::<Vec<_>>())
mix(v.par_iter().map(|n| [*n; 2]).flatten_iter().collect::<Vec<_>>())
mix(v.par_iter().chain(v.par_iter()).copied().collect::<Vec<_>>())
v.par_iter().any(|n| n % 1009 == 0) as u64
v.par_iter().all(|n| *n < u64::MAX) as u64
v.par_iter().find_any(|n| **n == v[9]).copied().unwrap()
v.par_iter().find_first(|n| *n % 5 == 0).copied().unwrap()
v.par_iter().find_last(|n| *n % 5 == 0).copied().unwrap()
v.par_iter().find_map_any(|n| (*n == v[9]).then_some(1)).unwrap()
v.par_iter().find_map_first(|n| (n % 5 == 0).then_some(n / 5)).unwrap()
v.par_iter().find_map_last(|n| (n % 5 == 0).then_some(n / 5)).unwrap()
v.par_iter().map(|n| Some(*n)).while_some().sum::<u64>()
v.par_iter().panic_fuse().sum::<u64>()
{ let (a, b): (Vec<u64>, Vec<u64>) = v.par_iter().map(|n| (n / 2, n / 3)).unzip(); mix(a) ^ mix(b) }
{ let (a, b): (Vec<u64>, Vec<u64>) = v.par_iter().partition(|n| *n % 2 == 0); mix(a) ^ mix(b) }
{ let (a, b): (Vec<u64>, Vec<u32>) = v.par_iter().partition_map(|n| if n % 2 == 0 { Either::Left(*n) } else { Either::Right(*n as u32) }); mix(a) ^ b.len() as u64 }
mix(v.par_iter().copied().intersperse(7).collect::<Vec<_>>())
v.par_iter().take_any(10).count() as u64
v.par_iter().skip_any(10).count() as u64
v.par_iter().take_any_while(|n| **n < u64::MAX).count() as u64
v.par_iter().skip_any_while(|n| **n < u64::MAX).count() as u64
v.par_iter().copied().collect_vec_list().into_iter().flatten().sum()
mix(v.par_iter().copied().by_exponential_blocks().collect::<Vec<_>>())
mix(v.par_iter().copied().by_uniform_blocks(64).collect::<Vec<_>>())
{ let mut o = Vec::new(); v.par_iter().copied().collect_into_vec(&mut o); mix(o) }
{ let (mut a, mut b) = (Vec::new(), Vec::new()); v.par_iter().map(|n| (n / 2, n / 3)).unzip_into_vecs(&mut a, &mut b); mix(a) ^ mix(b) }
v.par_iter().zip(v.par_iter().rev()).map(|(a, b)| a ^ b).sum::<u64>()
v.par_iter().zip_eq(v).map(|(a, b)| a.max(b)).sum::<u64>()
mix(v.par_iter().interleave(&v[..9]).copied().collect::<Vec<_>>())
mix(v.par_iter().interleave_shortest(&v[..9]).copied().collect::<Vec<_>>())
v.par_iter().copied().chunks(10).map(|c| c.len() as u64 * c[0]).max().unwrap()
mix(v.par_iter().fold_chunks(10, || 0, |a, b| a ^ b).collect::<Vec<_>>())
mix(v.par_iter().fold_chunks_with(10, 1, |a, b| a ^ b).collect::<Vec<_>>())
v.par_iter().cmp(&v[1..]) as i8 as u64 & 3
v.par_iter().map(|n| *n as f64).partial_cmp(v.par_iter().map(|n| *n as f64)).unwrap() as i8 as u64 & 3
v.par_iter().eq(v) as u64
v.par_iter().ne(v) as u64
v.par_iter().lt(v) as u64
v.par_iter().le(v) as u64
v.par_iter().gt(v) as u64
v.par_iter().ge(v) as u64
v.par_iter().enumerate().map(|(i, n)| i as u64 ^ n).sum::<u64>()
mix(v.par_iter().copied().step_by(3).collect::<Vec<_>>())
mix(v.par_iter().copied().skip(3).take(30).collect::<Vec<_>>())
v.par_iter().position_any(|n| *n == v[5]).unwrap() as u64
v.par_iter().position_first(|n| n % 5 == 0).unwrap() as u64
v.par_iter().position_last(|n| n % 5 == 0).unwrap() as u64
mix(v.par_iter().positions(|n| n % 5 == 0).map(|i| i as u64).collect::<Vec<_>>())
mix(v.par_iter().copied().rev().collect::<Vec<_>>())
v.par_iter().with_min_len(10).with_max_len(100).sum::<u64>()
v.to_vec().into_par_iter().map(|n| n ^ 1).sum::<u64>()
{ let mut w = v.to_vec(); w.par_iter_mut().for_each(|n| *n ^= 1); mix(w) }
{ let mut w = v.to_vec(); w.par_iter_mut().zip(v).enumerate().for_each(|(i, (a, b))| *a = b ^ i as u64); mix(w) }
{ let mut w = v.to_vec(); let d: u64 = w.par_drain(2..9).sum(); d ^ mix(w) }
{ let mut w = v.to_vec(); w.par_extend(v.par_iter().map(|n| n / 2)); mix(w) }
(0..1000_u32).into_par_iter().map(u64::from).sum::<u64>()
(0..1000_u64).into_par_iter().filter(|n| n % 7 == 0).sum::<u64>()
(0..1000_usize).into_par_iter().map(|i| v[i % v.len()]).max().unwrap()
(-500..500_i32).into_par_iter().map(|n| n.unsigned_abs() as u64).sum::<u64>()
(0..=1000_u16).into_par_iter().rev().step_by(7).map(u64::from).sum::<u64>()
(b'a'..=b'z').into_par_iter().map(u64::from).sum::<u64>()
('a'..'z').into_par_iter().map(u64::from).sum::<u64>()
mix(v.par_chunks(16).map(|c| c.iter().sum()).collect::<Vec<_>>())
mix(v.par_chunks_exact(16).map(|c| c[0]).collect::<Vec<_>>())
mix(v.par_rchunks(16).map(|c| c.iter().sum()).collect::<Vec<_>>())
mix(v.par_rchunks_exact(16).map(|c| c[0]).collect::<Vec<_>>())
v.par_windows(2).filter(|w| w[0] < w[1]).count() as u64
v.par_array_windows().filter(|[a, b]| a < b).count() as u64
mix(v.par_split(|n| n % 10 == 0).map(|c| c.len() as u64).collect::<Vec<_>>())
mix(v.par_split_inclusive(|n| n % 10 == 0).map(|c| c.len() as u64).collect::<Vec<_>>())
mix(v.par_chunk_by(|a, b| a < b).map(|c| c.len() as u64).collect::<Vec<_>>())
{ let mut w = v.to_vec(); w.par_chunks_mut(16).for_each(|c| c.reverse()); mix(w) }
{ let mut w = v.to_vec(); w.par_chunks_exact_mut(16).for_each(|c| c.reverse()); mix(w) }
{ let mut w = v.to_vec(); w.par_rchunks_mut(16).for_each(|c| c.reverse()); mix(w) }
{ let mut w = v.to_vec(); w.par_rchunks_exact_mut(16).for_each(|c| c.reverse()); mix(w) }
{ let mut w = v.to_vec(); w.par_split_mut(|n| n % 10 == 0).for_each(|c| c.reverse()); mix(w) }
{ let mut w = v.to_vec(); w.par_split_inclusive_mut(|n| n % 10 == 0).for_each(|c| c.reverse()); mix(w) }
{ let mut w = v.to_vec(); w.par_chunk_by_mut(|a, b| a < b).for_each(|c| c.reverse()); mix(w) }
{ let mut w = v.to_vec(); w.par_sort(); mix(w) }
{ let mut w = v.to_vec(); w.par_sort_by(|a, b| b.cmp(a)); mix(w) }
{ let mut w = v.to_vec(); w.par_sort_by_key(|n| (n % 10, *n)); mix(w) }
{ let mut w = v.to_vec(); w.par_sort_by_cached_key(|n| n.to_string()); mix(w) }
{ let mut w = v.to_vec(); w.par_sort_unstable(); mix(w) }
{ let mut w = v.to_vec(); w.par_sort_unstable_by(|a, b| b.cmp(a)); mix(w) }
{ let mut w = v.to_vec(); w.par_sort_unstable_by_key(|n| (n % 10, *n)); mix(w) }
s.par_chars().filter(|c| c.is_alphabetic()).count() as u64
s.par_char_indices().map(|(i, c)| i as u64 ^ u64::from(c)).sum::<u64>()
s.par_bytes().map(u64::from).sum::<u64>()
s.par_encode_utf16().map(u64::from).sum::<u64>()
s.par_split(' ').map(|w| w.len() as u64).max().unwrap()
s.par_split_inclusive(' ').map(|w| w.len() as u64).max().unwrap()
s.par_split_terminator('.').count() as u64
s.par_lines().map(|l| l.len() as u64).sum::<u64>()
s.par_split_whitespace().filter(|w| w.len() > 3).count() as u64
s.par_split_ascii_whitespace().filter(|w| w.len() > 3).count() as u64
s.par_matches('a').count() as u64
s.par_match_indices('a').map(|(i, _)| i as u64).sum::<u64>()
s.par_chars().filter(|c| *c != 'a').collect::<String>().len() as u64
{ let mut t = s.to_string(); let n = t.par_drain(..9).count(); (n + t.len()) as u64 }
[1_u64, 2, 3].into_par_iter().map(|n| n * n).sum::<u64>()
Some(v[0]).into_par_iter().sum::<u64>()
Ok::<u64, ()>(v[0]).into_par_iter().map(|n| n / 2).sum::<u64>()
v.par_iter().map(|n| n.checked_add(1)).collect::<Option<Vec<_>>>().map(mix).unwrap()
v.par_iter().map(|n| n.checked_add(1).ok_or(())).collect::<Result<Vec<_>, ()>>().map(mix).unwrap()
{ let m: HashMap<u64, u64> = v.par_iter().map(|n| (*n, n / 2)).collect(); m.par_iter().map(|(k, n)| k ^ n).sum() }
{ let mut m: HashMap<u64, u64> = v.par_iter().map(|n| (*n, n / 2)).collect(); m.par_iter_mut().for_each(|(_, n)| *n ^= 1); m.par_drain().map(|(_, n)| n).sum() }
{ let m: HashSet<u64> = v.par_iter().copied().collect(); m.into_par_iter().sum() }
{ let mut m: HashSet<u64> = v.par_iter().copied().collect(); m.par_drain().max().unwrap() }
{ let m: BTreeMap<u64, u64> = v.par_iter().map(|n| (*n, n / 2)).collect(); m.into_par_iter().map(|(k, n)| k ^ n).sum() }
{ let m: BTreeSet<u64> = v.par_iter().copied().collect(); m.par_iter().sum() }
{ let m: BinaryHeap<u64> = v.par_iter().copied().collect(); m.into_par_iter().sum() }
{ let mut m: BinaryHeap<u64> = v.par_iter().copied().collect(); m.par_drain().max().unwrap() }
{ let m: LinkedList<u64> = v.par_iter().copied().collect(); m.par_iter().sum() }
{ let mut m: VecDeque<u64> = v.par_iter().copied().collect(); m.par_iter_mut().for_each(|n| *n /= 2); m.par_drain(1..).sum() }
{ let mut m = BTreeMap::new(); m.par_extend(v.par_iter().map(|n| (n % 10, n % 10))); m.len() as u64 }
iter::repeat(3_u64).zip(v).map(|(a, b)| a ^ b).sum::<u64>()
iter::repeat_n(3_u64, 100).sum::<u64>()
iter::once(3_u64).chain(iter::empty()).sum::<u64>()
iter::split(0..1000_u64, |r| { let m = r.start + (r.end - r.start) / 2; if r.end - r.start < 10 { (r, None) } else { (r.start..m, Some(m..r.end)) } }).map(|r| r.sum::<u64>()).sum::<u64>()
iter::walk_tree(1_u64, |n| if *n < 200 { vec![2 * n, 2 * n + 1] } else { vec![] }).sum::<u64>()
mix(iter::walk_tree_prefix(1_u64, |n| if *n < 200 { vec![2 * n, 2 * n + 1] } else { vec![] }).collect::<Vec<_>>())
mix(iter::walk_tree_postfix(1_u64, |n| if *n < 200 { vec![2 * n, 2 * n + 1] } else { vec![] }).collect::<Vec<_>>())
v.iter().par_bridge().map(|n| n ^ 1).sum::<u64>()
(v, &v[1..]).into_par_iter().map(|(a, b)| a ^ b).sum::<u64>()
(if v.len() > 5 { Either::Left(v.par_iter()) } else { Either::Right(v[1..].par_iter()) }).sum::<u64>()
v.par_iter().filter(|n| *n % 2 == 0).map(|n| n / 2).fold(HashMap::new, |mut m: HashMap<u64, u64>, n| { *m.entry(n % 8).or_default() += 1; m }).reduce(HashMap::new, |mut a, b| { b.into_iter().for_each(|(k, n)| *a.entry(k).or_default() += n); a }).into_values().max().unwrap()
v.par_chunks(50).enumerate().map(|(i, c)| (i as u64, c.iter().max().unwrap())).filter(|(i, _)| i % 2 == 0).map(|(i, n)| i ^ n).sum::<u64>()
v.par_iter().zip(v.par_iter().skip(1)).zip(v.par_iter().skip(2)).map(|((a, b), c)| a ^ b ^ c).with_min_len(16).max().unwrap()
s.par_lines().flat_map_iter(|l| l.split(' ')).map(|w| w.len() as u64).filter(|n| n % 2 == 1).sum::<u64>()
lib::join(|| v.par_iter().sum::<u64>(), || v.par_iter().map(|n| n / 2).sum::<u64>()).0
{ let m = Mutex::new(0); lib::scope(|sc| for c in v.chunks(100) { let m = &m; sc.spawn(move |_| *m.lock().unwrap() += c.par_iter().sum::<u64>()); }); m.into_inner().unwrap() }
"""

HEAD = """//! Written by bench/compile.
#![allow(unused_braces, unused_parens)]
use lib::iter::{self, Either};
use lib::prelude::*;
use std::collections::*;
use std::sync::{Mutex, mpsc::channel};

fn mix(v: impl IntoIterator<Item = u64>) -> u64 {
    v.into_iter().fold(7, |a, b| (a ^ b).wrapping_mul(0x100_0000_01b3).rotate_left(29))
}
"""


def chains():
    return [line for line in CHAINS.strip().splitlines() if line]


def program():
    """The source of the program."""
    parts = [HEAD]
    for number, body in enumerate(chains()):
        parts.append(f"fn chain_{number}(v: &[u64], s: &str) -> u64 {{\n    let _ = (v, s);\n    {body}\n}}\n")
    calls = ",\n".join(f"        chain_{number}" for number in range(len(chains())))
    parts.append(
        "fn main() {\n"
        "    let v: Vec<u64> = (1..1000_u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40).collect();\n"
        '    let s = "an answer. a banana and\\nanother line ".repeat(20);\n'
        f"    let chains: [fn(&[u64], &str) -> u64; {len(chains())}] = [\n{calls},\n    ];\n"
        '    println!("{}", mix(chains.iter().map(|chain| chain(&v, &s))));\n'
        "}\n"
    )
    return "\n".join(parts)
