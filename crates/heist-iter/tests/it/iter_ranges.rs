//! Ranges of all types, at their limits.

use heist_iter::prelude::*;

macro_rules! narrow {
    ($($t:ident)*) => {
        $(
            #[test]
            fn $t() {
                let bounds = [$t::MIN, $t::MIN + 1, $t::MIN + 100, $t::MAX / 2, $t::MAX - 100, $t::MAX - 1, $t::MAX];
                for start in bounds {
                    for end in bounds {
                        let half_open: Vec<_> = (start..end).into_par_iter().collect();
                        assert!(half_open.iter().copied().eq(start..end), "{start}..{end}");
                        assert_eq!((start..end).into_par_iter().len(), (start..end).len());
                        let closed: Vec<_> = (start..=end).into_par_iter().collect();
                        assert!(closed.iter().copied().eq(start..=end), "{start}..={end}");
                        assert_eq!((start..=end).into_par_iter().rev().count(), (start..=end).count());
                    }
                }
            }
        )*
    };
}

narrow! { u8 u16 i8 i16 }

macro_rules! wide {
    ($($t:ident)*) => {
        $(
            #[test]
            fn $t() {
                let bounds = [$t::MIN, $t::MIN + 1, $t::MIN + 1000, 0, 1000, $t::MAX - 1000, $t::MAX - 1, $t::MAX];
                for start in bounds {
                    for end in bounds {
                        if end.checked_sub(start).is_none_or(|steps| steps > 1000) && start < end {
                            // Too long to go through, but not to search.
                            assert_eq!((start..end).into_par_iter().find_first(|_| true), Some(start));
                            assert_eq!((start..=end).into_par_iter().find_first(|_| true), Some(start));
                            assert!((start..end).into_par_iter().find_any(|n| *n != 0).is_some());
                            assert!((start..=end).into_par_iter().any(|n| n != 0));
                            continue;
                        }
                        let half_open: Vec<_> = (start..end).into_par_iter().collect();
                        assert!(half_open.iter().copied().eq(start..end), "{start}..{end}");
                        let closed: Vec<_> = (start..=end).into_par_iter().collect();
                        assert!(closed.iter().copied().eq(start..=end), "{start}..={end}");
                        assert_eq!((start..=end).into_par_iter().opt_len(), Some(closed.len()));
                    }
                }
            }
        )*
    };
}

wide! { u32 i32 usize isize u64 i64 u128 i128 }

#[test]
fn chars() {
    for (start, end) in
        [('a', 'z'), ('z', 'a'), ('\0', char::MAX), ('\u{D7F0}', '\u{E010}'), ('\u{E000}', '\u{E010}')]
    {
        assert!((start..end).into_par_iter().collect::<Vec<_>>().into_iter().eq(start..end));
        assert!((start..=end).into_par_iter().rev().collect::<Vec<_>>().into_iter().eq((start..=end).rev()));
        assert_eq!((start..=end).into_par_iter().len(), (start..=end).count());
    }
}

#[test]
fn lengths_that_do_not_fit() {
    assert_eq!((0..u64::MAX).into_par_iter().opt_len(), usize::try_from(u64::MAX).ok());
    assert_eq!((0..=u64::MAX).into_par_iter().opt_len(), None);
    assert_eq!((0..u128::MAX).into_par_iter().opt_len(), None);
    assert_eq!((i128::MIN..i128::MAX).into_par_iter().opt_len(), None);
    assert_eq!((i64::MIN..i64::MAX).into_par_iter().opt_len(), usize::try_from(u64::MAX).ok());
}

#[test]
fn a_spent_inclusive_range_is_empty() {
    let mut range = 5..=5u8;
    range.next();
    assert_eq!(range.into_par_iter().count(), 0);
    let mut range = 'a'..='a';
    range.next();
    assert_eq!(range.into_par_iter().count(), 0);
    let mut range = u64::MAX..=u64::MAX;
    range.next();
    assert_eq!(range.into_par_iter().count(), 0);
}

#[test]
fn huge_searches_end() {
    assert_eq!((0..u64::MAX).into_par_iter().find_any(|n| *n == 12_345), Some(12_345));
    assert_eq!((0..usize::MAX).into_par_iter().find_first(|n| *n > 3), Some(4));
    assert_eq!((0..usize::MAX).into_par_iter().rev().find_first(|n| *n % 2 == 0), Some(usize::MAX - 1));
    assert_eq!((0..usize::MAX).into_par_iter().step_by(1 << 60).count(), 16);
    let some = (0..u128::MAX).into_par_iter().filter(|n| n % 1000 == 0).take_any(100).count();
    assert_eq!(some, 100);
}

#[test]
fn items_without_size() {
    let units = vec![(); 1 << 20];
    assert_eq!(units.par_iter().count(), 1 << 20);
    assert_eq!(units.into_par_iter().filter(|()| true).collect::<Vec<()>>().len(), 1 << 20);
    let many: Vec<()> = heist_iter::iter::repeat_n((), 1 << 24).collect();
    assert_eq!(many.len(), 1 << 24);
    let (a, b): (Vec<()>, Vec<()>) = (0..1000).into_par_iter().map(|_| ((), ())).unzip();
    assert_eq!((a.len(), b.len()), (1000, 1000));
}
