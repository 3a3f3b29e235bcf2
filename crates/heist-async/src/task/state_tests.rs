//! The word's transitions over all words that can exist.

use super::*;

fn state_of(word: Word) -> State {
    let state = State::default();
    state.store(word);
    state
}

const W: u64 = WAKER;
const H: u64 = HOLD;

/// What the invariants allow, with up to two wakers and one hold.
fn legal() -> impl Iterator<Item = Word> {
    let flags = 0..WAKER;
    let counts = (0..3).flat_map(|wakers| (0..2).map(move |holds| wakers * W + holds * H));
    counts
        .flat_map(move |counts| flags.clone().map(move |flags| Word(flags | counts)))
        .filter(|w| is_legal(*w))
}

fn is_legal(w: Word) -> bool {
    let kept = w.has(SCHEDULED | RUNNING | HANDLE) || w.wakers() > 0;
    (w.is_done() || kept) // I2
        && (!w.has(AWAITER) || w.has(HANDLE) || w.is_done()) // I3
        && !(w.is_done() && w.has(SCHEDULED)) // I4
        && (w.is_done() || !w.has(PANICKED | CANCELLED))
        && !(w.has(PANICKED) && w.has(CANCELLED))
}

/// A word is what it was but for some flags.
fn row(before: u64, after: u64) -> (Word, Word) {
    (Word(before), Word(after))
}

#[test]
fn there_are_words() {
    assert!(legal().count() > 200);
    assert!(Word(0).is_free() && !is_legal(Word(0)));
}

#[test]
fn a_spawned_task_is_queued_and_has_a_handle() {
    assert_eq!(Word::spawned(true, 0), Word(SCHEDULED | HANDLE));
    assert_eq!(Word::spawned(false, 1), Word(SCHEDULED | H));
}

#[test]
fn start() {
    for w in legal().filter(|w| w.is_scheduled() && !w.is_running()) {
        let (next, start) = w.start();
        assert!(is_legal(next) && next.is_running() && !next.is_scheduled(), "{w:x?}");
        assert_eq!(start == Start::Cancel, w.is_aborted());
        let state = state_of(w);
        assert_eq!((state.start(), state.load()), (start, next));
    }
}

#[test]
fn pend() {
    for (before, after, what) in [
        (RUNNING | HANDLE | W, HANDLE | W, Pend::Wait),
        (RUNNING | HANDLE, HANDLE, Pend::Wait),
        (RUNNING | W, W, Pend::Wait),
        (RUNNING | H | W, H | W, Pend::Wait),
        (RUNNING | SCHEDULED | W, SCHEDULED | W, Pend::Again),
        (RUNNING | SCHEDULED, SCHEDULED, Pend::Again),
        (RUNNING | ABORTED | HANDLE | W, RUNNING | ABORTED | HANDLE | W, Pend::Cancel),
        (RUNNING | ABORTED | SCHEDULED, RUNNING | ABORTED | SCHEDULED, Pend::Cancel),
        (RUNNING, RUNNING | ABORTED, Pend::Leaked),
        (RUNNING | H, RUNNING | ABORTED | H, Pend::Leaked),
    ] {
        assert_eq!(Word(before).pend(), (Word(after), what), "{before:x}");
    }
    for w in legal().filter(|w| w.is_running() && !w.is_done()) {
        let (next, pend) = w.pend();
        assert!(is_legal(next), "{w:x?} became {next:x?}");
        assert_eq!(next.is_running(), matches!(pend, Pend::Cancel | Pend::Leaked));
        assert_eq!(next.is_scheduled(), w.is_scheduled());
        assert_eq!((next.wakers(), next.holds(), next.has_handle()), (w.wakers(), w.holds(), w.has_handle()));
    }
}

#[test]
fn finish() {
    for (before, after, what) in [
        (RUNNING, DONE, Finish::Free),
        (RUNNING | SCHEDULED, DONE, Finish::Free),
        (RUNNING | W, DONE | W, Finish::Left),
        (RUNNING | H, DONE | H, Finish::Left),
    ] {
        assert_eq!(Word(before).finish(Outcome::Output, false, false), (Word(after), what), "{before:x}");
        assert_eq!(Word(before).finish(Outcome::Output, true, false), (Word(before), Finish::Orphan));
    }
    let (w, next) = row(RUNNING | HANDLE, DONE | PANICKED | HANDLE);
    assert_eq!(w.finish(Outcome::Panicked, true, false), (next, Finish::Left));
    let (w, next) = row(RUNNING | HANDLE | AWAITER, RUNNING | DONE | CANCELLED | HANDLE | AWAITER);
    assert_eq!(w.finish(Outcome::Cancelled, true, false), (next, Finish::Tell { awaiter: true }));
    let (w, next) = row(RUNNING | HANDLE, RUNNING | DONE | HANDLE);
    assert_eq!(w.finish(Outcome::Output, true, true), (next, Finish::Tell { awaiter: false }));

    for w in legal().filter(|w| w.is_running() && !w.is_done()) {
        for outcome in [Outcome::Output, Outcome::Panicked, Outcome::Cancelled] {
            for tells in [false, true] {
                let (next, finish) = w.finish(outcome, w.has_handle(), tells);
                assert!(next.is_done() && is_legal(next) && next.outcome() == outcome, "{w:x?}");
                assert_eq!(next.is_free(), finish == Finish::Free);
                assert_eq!(next.is_running(), matches!(finish, Finish::Tell { .. }));
                if next.is_running() {
                    let state = state_of(next);
                    assert_eq!(state.leave(), state.load().is_free());
                    assert!(!state.load().is_running());
                }
            }
        }
    }
}

#[test]
fn wakes() {
    for w in legal() {
        let (next, schedule) = w.wake_by_ref();
        assert!(is_legal(next), "{w:x?} became {next:x?}");
        assert_eq!(schedule, w.is_idle());
        assert_eq!(next.is_scheduled(), !w.is_done());
        assert_eq!(next.0 & !SCHEDULED, w.0 & !SCHEDULED);
        if w.wakers() == 0 {
            continue;
        }
        let (less, loose) = w.wake();
        assert_eq!(less.wakers(), w.wakers() - 1);
        assert_eq!(less.0 + W, next.0, "the same but for the waker");
        assert_eq!(loose == Loose::Schedule, schedule);
        assert_eq!(loose == Loose::Free, w.is_done() && less.is_free());
    }
}

/// Whoever lets go of a task last cancels it, or frees its cell; nobody else does.
fn check_let_go(w: Word, without: Word, (next, loose): (Word, Loose)) {
    let nobody_left = without.is_idle() && without.wakers() == 0 && !without.has_handle();
    let expected = if nobody_left {
        Loose::Leaked
    } else if without.is_done() && without.is_free() {
        Loose::Free
    } else {
        Loose::Nothing
    };
    assert_eq!(loose, expected, "{w:x?}");
    let cancelled = if nobody_left { SCHEDULED | ABORTED } else { 0 };
    assert_eq!(next.0, without.0 | cancelled, "{w:x?}");
    assert!(is_legal(next), "{w:x?} became {next:x?}");
}

#[test]
fn letting_go() {
    for w in legal() {
        if w.wakers() > 0 {
            check_let_go(w, Word(w.0 - W), w.drop_waker());
        }
        if w.holds() > 0 {
            check_let_go(w, Word(w.0 - H), w.release());
        }
        if w.has_handle() && (w.is_done() || !w.has_awaiter()) {
            check_let_go(w, Word(w.0 & !HANDLE), w.drop_handle());
            let state = state_of(w);
            assert_eq!(state.drop_handle(!w.is_done()), None);
            assert_eq!(state.load(), w);
        }
    }
}

#[test]
fn abort() {
    for w in legal() {
        let (next, schedule) = w.abort();
        assert_eq!(schedule, w.is_idle());
        assert_eq!(next.is_aborted(), !w.is_done() || w.is_aborted());
        assert_eq!(next.is_scheduled(), w.is_scheduled() || w.is_idle());
        assert!(is_legal(next));
        assert_eq!(next.abort(), (next, false), "a second abort is nothing");
    }
}

#[test]
fn awaiters() {
    for w in legal().filter(|w| w.has_handle()) {
        let state = state_of(w);
        assert_eq!(state.offer_awaiter(), !w.is_done());
        assert_eq!(state.load().has_awaiter(), !w.is_done() || w.has_awaiter());
        assert_eq!(state.retract_awaiter(), !w.is_done());
        assert_eq!(state.load().0, if w.is_done() { w.0 } else { w.0 & !AWAITER });
    }
}

#[test]
fn pins() {
    assert_eq!(state_of(Word(0)).pin(), None);
    assert_eq!(state_of(Word(DONE | CANCELLED | ABORTED)).pin(), None);
    for w in legal() {
        let state = state_of(w);
        match state.pin() {
            Some(seen) => assert!(seen == w && !w.is_free() && state.load().0 == w.0 + H),
            None => assert!(w.is_free() && state.load() == w),
        }
    }
}

#[test]
fn leaks_are_seen() {
    assert!(Word(HANDLE).is_leaked());
    assert!(
        !Word(HANDLE | W).is_leaked()
            && !Word(HANDLE | SCHEDULED).is_leaked()
            && !Word(HANDLE | DONE).is_leaked()
    );
}
