//! A merge sort whose merges are serial: how parallel is it? `cargo run --release --example profile`, or with a profile of the whole process
//! `heist profile -- target/release/examples/profile`. It is the example of `docs/profile.md`.

/// Sorts halves beside each other, and merges them one after the other.
fn sort(v: &mut [u64], spare: &mut [u64]) {
    if v.len() <= 4096 {
        return v.sort_unstable();
    }
    let middle = v.len() / 2;
    let (left, right) = v.split_at_mut(middle);
    let (left_spare, right_spare) = spare.split_at_mut(middle);
    heist::join(|| sort(left, left_spare), || sort(right, right_spare));
    merge(left, right, spare);
    v.copy_from_slice(spare);
}

fn merge<'a>(mut left: &'a [u64], mut right: &'a [u64], out: &mut [u64]) {
    for place in out {
        let from = match (left.first(), right.first()) {
            (Some(a), Some(b)) if a <= b => &mut left,
            (_, Some(_)) => &mut right,
            (_, None) => &mut left,
        };
        *place = from[0];
        *from = &from[1..];
    }
}

fn numbers(n: u64) -> Vec<u64> {
    (0..n).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20).collect()
}

fn main() {
    let mut v = {
        let _filling = heist::profile::region("fill");
        numbers(1 << 20)
    };
    let mut spare = vec![0; v.len()];
    let ((), profile) = heist::profile(|| {
        let _sorting = heist::profile::region("sort");
        sort(&mut v, &mut spare);
    });
    assert!(v.is_sorted());
    #[cfg(feature = "trace-output")]
    print!("{profile}");
    #[cfg(not(feature = "trace-output"))]
    println!("{:?}", profile.parallelism());
}

#[test]
fn it_sorts() {
    let mut v = numbers(20_000);
    let mut spare = vec![0; v.len()];
    sort(&mut v, &mut spare);
    assert!(v.is_sorted());
}
