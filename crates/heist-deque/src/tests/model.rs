//! Any sequence of operations on one thread, against a `VecDeque`.

use crate::{Options, Steal, deque_with};
use proptest::prelude::*;
use std::collections::VecDeque;

#[derive(Clone, Debug)]
enum Step {
    Push(u8),
    Pop(u8),
    PopAboveMark,
    Mark,
    Steal,
    StealHalf,
    StealHalfIntoItself,
    Ask,
    Force,
    ShareAll,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (1u8..20).prop_map(Step::Push),
        3 => (1u8..20).prop_map(Step::Pop),
        1 => Just(Step::PopAboveMark),
        1 => Just(Step::Mark),
        4 => Just(Step::Steal),
        2 => Just(Step::StealHalf),
        1 => Just(Step::StealHalfIntoItself),
        1 => Just(Step::Ask),
        1 => Just(Step::Force),
        1 => Just(Step::ShareAll),
    ];
    proptest::collection::vec(step, 1..200)
}

/// Room for what a sequence may push, so that the narrow deque is never full.
const LIVE_MAX: usize = 150;

fn run(steps: &[Step], start: u64, fenced: bool) -> Result<(), TestCaseError> {
    let (owner, thief) = deque_with(Options { capacity: 2, start, fenced, ..Options::default() });
    let (other, other_thief) = deque_with(Options { capacity: 2, start, fenced, ..Options::default() });
    let mut model = VecDeque::new();
    let mut next = 0u32;
    // The position at the mark, and how many items below it are left in the model.
    let mut mark = owner.position();
    let mut stolen = 0u64;
    let first = owner.position();
    for step in steps {
        match step {
            Step::Push(n) => {
                for _ in 0..*n {
                    if model.len() < LIVE_MAX {
                        owner.push(next);
                        model.push_back(next);
                        next += 1;
                    }
                }
            }
            Step::Pop(n) => {
                for _ in 0..*n {
                    prop_assert_eq!(owner.pop(), model.pop_back());
                }
            }
            Step::Mark => mark = owner.position(),
            Step::PopAboveMark => {
                let above = first + stolen + model.len() as u64 > mark;
                let want = if above { model.pop_back() } else { None };
                prop_assert_eq!(owner.pop_above(mark), want);
            }
            Step::Steal => match thief.steal() {
                Steal::Success(item) => {
                    prop_assert_eq!(Some(item), model.pop_front());
                    stolen += 1;
                }
                Steal::Empty => prop_assert!(model.is_empty()),
                Steal::Retry => prop_assert!(!model.is_empty() && owner.is_asked()),
            },
            Step::StealHalf => match thief.steal_half(&other) {
                Steal::Success(item) => {
                    prop_assert_eq!(Some(item), model.pop_front());
                    stolen += 1;
                    other.share_all();
                    while let Steal::Success(item) = other_thief.steal() {
                        prop_assert_eq!(Some(item), model.pop_front());
                        stolen += 1;
                    }
                }
                Steal::Empty => prop_assert!(model.is_empty()),
                Steal::Retry => prop_assert!(!model.is_empty()),
            },
            Step::StealHalfIntoItself => {
                let before = owner.position();
                if let Steal::Success(item) = thief.steal_half(&owner) {
                    prop_assert_eq!(Some(item), model.pop_front());
                    let moved = owner.position() - before;
                    stolen += 1 + moved;
                    model.rotate_left(moved as usize);
                }
            }
            Step::Ask => thief.ask(),
            Step::Force => {
                prop_assert_eq!(thief.force(), !model.is_empty());
                if let Some(&oldest) = model.front() {
                    prop_assert_eq!(thief.steal(), Steal::Success(oldest));
                    model.pop_front();
                    stolen += 1;
                }
            }
            Step::ShareAll => owner.share_all(),
        }
        prop_assert_eq!(owner.len(), model.len());
        prop_assert_eq!(thief.is_empty(), model.is_empty());
        prop_assert_eq!(owner.position(), first + stolen + model.len() as u64);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 256, ..ProptestConfig::default() })]

    /// Also: an empty pop never underflows (crossbeam's chase_lev #33), wherever it comes in the sequence.
    #[test]
    fn any_sequence_agrees_with_a_vec_deque(steps in steps(), before_wrap in 0u64..20, fenced: bool) {
        run(&steps, (1 << 12) - before_wrap, fenced)?;
    }
}
