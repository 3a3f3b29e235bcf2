//! The side of the thread that has the token.

use super::schedule::Step;
use super::{Cell, Place, Spec, State, Submitted, rank_of};
use crate::cell::End;
use crate::context::{Context, Running};
use crate::report::{self, Report};
use crate::stats::{Ended, Window};
use heist_policy::tick as policy;
use heist_pool::raw::job::{self, Payload};
use heist_pool::raw::process;
use heist_pool::raw::profile;
use heist_pool::raw::recorder::{self, Kind, name};
use heist_pool::raw::tick::{NEVER, Taken, Tick, TickNow, TickShown};
use heist_sync::{MutexGuard, StdArc as Arc, lock, lock_soon, prefetch};
use std::time::Duration;

/// What the thread does next.
enum Todo {
    Closure(Submitted),
    Run,
    Nothing,
}

/// What has happened since the thread has taken the tick.
#[derive(Default)]
struct Turn {
    /// How long closures have run in a row.
    closures_ns: u64,
    has_run_closure: bool,
    /// When the last of what it has done has ended.
    ended_ns: u64,
    /// A panic to tell of.
    panicked: Option<Payload>,
}

impl State {
    /// See *What is due* in the README.
    fn next(&mut self, turn: &Turn, now_ns: u64, next_due_ns: impl FnOnce() -> u64) -> Todo {
        let run_ns = self.schedule.due_ns();
        let is_run_due = run_ns.is_some_and(|due_ns| due_ns <= now_ns);
        if self.submitted.is_empty() {
            return if is_run_due { Todo::Run } else { Todo::Nothing };
        }
        let may_begin = if self.schedule.is_ending() {
            true
        } else if is_run_due {
            !turn.has_run_closure
        } else {
            let due_ns = next_due_ns().min(run_ns.unwrap_or(NEVER));
            let until_due_ns = due_ns.saturating_sub(now_ns);
            // LIVENESS: they make room once. Two ticks whose closures made room for each other would else take turns forever.
            let is_their_turn = self.closures_from_ns.is_some() && !turn.has_run_closure;
            let may = is_their_turn || policy::closures_may_go_on(turn.closures_ns, until_due_ns);
            if !may {
                // Behind the tick that is what has stopped them, or behind all that is due now.
                let is_time_up = policy::closures_may_go_on(0, until_due_ns);
                self.closures_from_ns = Some(if is_time_up { now_ns } else { due_ns });
            }
            may
        };
        match self.submitted.pop_front() {
            Some(submitted) if may_begin => return Todo::Closure(submitted),
            Some(submitted) => self.submitted.push_front(submitted),
            None => {}
        }
        if is_run_due { Todo::Run } else { Todo::Nothing }
    }
}

impl Cell {
    /// Records the edge of a run.
    #[inline]
    fn trace(&self, kind: Kind, late_ns: u64) {
        let number = recorder::number_of(self);
        recorder::record(&self.pool, kind, number, || {
            if kind == Kind::TickEnd {
                return 0;
            }
            let name = self.spec.name.as_deref();
            name.map_or_else(|| name::of_site(self.spec.site), name::number)
        });
        if profile::is_on() && kind == Kind::TickStart {
            profile::note_late(late_ns);
        }
        if late_ns >= 1_000 {
            recorder::record(
                &self.pool,
                Kind::Late,
                u32::try_from(late_ns / 1_000).unwrap_or(u32::MAX),
                || 0,
            );
        }
    }

    /// The program's code has returned: in a child process there is nothing left to do for it.
    fn end_if_child(&self, has_panicked: bool) {
        if self.pool.is_foreign() {
            process::end_child_after(has_panicked);
        }
    }

    /// Runs the oldest closure.
    fn run_closure<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        closure: Submitted,
        begun_ns: u64,
        turn: &mut Turn,
    ) -> MutexGuard<'a, State> {
        state.begun_ns = Some(begun_ns);
        state.closures_from_ns = None;
        drop(state);
        let running = Running::enter(self);
        recorder::record(&self.pool, Kind::SpanStart, 0, || name::number("submitted closure"));
        let result = job::halt_unwinding(closure.run);
        recorder::record(&self.pool, Kind::SpanEnd, 0, || 0);
        self.end_if_child(result.is_err());
        let ended_ns = self.ticks().now_ns();
        let mut state = lock(&self.state);
        let took_ns = ended_ns.saturating_sub(begun_ns);
        state.begun_ns = None;
        state.recorder.record_closure(ended_ns, took_ns);
        self.pool_stats.record_closure(state.index, ended_ns, took_ns);
        turn.closures_ns += took_ns;
        turn.ended_ns = ended_ns;
        turn.has_run_closure = true;
        if let Err(payload) = result {
            // As that of a detached job: it is none of the tick's.
            drop(state);
            self.pool.deliver_panic(payload);
            state = lock(&self.state);
        }
        drop(running);
        state
    }

    /// One run of the tick.
    fn run_once<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        begun_ns: u64,
        turn: &mut Turn,
    ) -> MutexGuard<'a, State> {
        let clock = self.ticks().clock();
        let before = state.schedule.ledger();
        let run = state.schedule.begin(begun_ns);
        let begin = (before, state.schedule.ledger());
        let lateness_ns = begun_ns.saturating_sub(run.scheduled_ns);
        let next_ns = state.schedule.due_ns();
        state.begun_ns = Some(begun_ns);
        let mut body = state.body.take().expect("only the thread with the token takes it");
        let mean_ns = state.mean_ns;
        drop(state);
        self.pool.driver_waiter().relieve(lateness_ns, begun_ns, mean_ns);
        let mut context = Context::new(clock, run, lateness_ns, next_ns);
        let running = Running::enter(self);
        self.trace(Kind::TickStart, lateness_ns);
        let result = job::halt_unwinding(|| body(&mut context));
        self.trace(Kind::TickEnd, 0);
        self.end_if_child(result.is_err());
        drop(running);
        let ended_ns = clock.now_ns();
        turn.ended_ns = ended_ns;
        let mut state = lock(&self.state);
        state.body = Some(body);
        state.begun_ns = None;
        let ended = Ended {
            begun_ns,
            ended_ns,
            lateness_ns,
            skipped: run.count - 1,
            has_overrun: next_ns.is_some_and(|next_ns| ended_ns > next_ns),
            has_panicked: result.is_err(),
        };
        state.recorder.record_ended(ended);
        self.note_load(&mut state, ended.took_ns());
        let step = match result {
            Ok(next) => Step::new(next, |at| clock.ns_of(at)),
            Err(payload) => {
                let step = if self.spec.stops_on_panic { Step::Stop } else { Step::Continue };
                // Also if it was cancelled meanwhile: whoever waits should know.
                if step == Step::Stop {
                    state.end = Some(End::Panicked(report::message(&*payload)));
                }
                turn.panicked = Some(payload);
                step
            }
        };
        let before = state.schedule.ledger();
        // It may have been cancelled meanwhile.
        if !state.schedule.is_ending() {
            state.schedule.end(step, ended_ns);
            if step == Step::Stop {
                state.end.get_or_insert(End::Stopped);
            }
        }
        self.pool_stats.record_run(state.index, ended, [begin, (before, state.schedule.ledger())]);
        state
    }

    /// The tick's part of its index's load, after a run.
    fn note_load(&self, state: &mut State, took_ns: u64) {
        /// The newest run counts for one part in so many.
        const WEIGHT: u64 = 8;
        state.mean_ns = match state.share {
            None => took_ns,
            Some(_) => state.mean_ns - state.mean_ns / WEIGHT + took_ns / WEIGHT,
        };
        let share = policy::share(state.mean_ns, state.schedule.period_ns());
        // All threads share the loads, so they hear of what matters only.
        if state.share.is_none_or(|before| policy::is_news(before, share, state.schedule.period_ns())) {
            let loads = self.ticks().loads();
            loads.remove(state.index, state.share);
            loads.add(state.index, Some(share));
            state.share = Some(share);
        }
    }

    /// It stays with the index that has taken it. Without a permit there is none.
    fn move_to(&self, state: &mut State, taken: &Taken<'_>) {
        let Some(index) = taken.index.filter(|_| taken.moves) else { return };
        state.recorder.record_steal(taken.at_ns);
        self.pool_stats.record_steal(state.index, taken.at_ns);
        let rank = |index| rank_of(&self.pool, self.near, index);
        if rank(index) > rank(state.index) {
            // It comes back to its node.
            return;
        }
        let loads = self.ticks().loads();
        loads.remove(state.index, state.share);
        loads.add(index, state.share);
        state.index = index;
    }

    fn report_panic(&self, payload: Payload) {
        let is_first = lock(&self.state).watched.is_first_panic();
        let report = Report::panicked(self, report::message(&*payload));
        report.deliver(is_first);
        job::discard(payload);
    }
}

impl Tick for Cell {
    fn run(self: Arc<Self>, taken: &Taken<'_>) -> u64 {
        let mut state = lock(&self.state);
        debug_assert!(matches!(state.place, Place::Queued(..)), "T1: {:?}", state.place);
        state.place = Place::Taken;
        if let Some(body) = &state.body {
            // Of many ticks most are far away in memory: it comes near meanwhile.
            prefetch(&raw const **body, 1);
        }
        self.move_to(&mut state, taken);
        let mut turn = Turn { ended_ns: taken.at_ns, ..Turn::default() };
        loop {
            let now_ns = turn.ended_ns;
            match state.next(&turn, now_ns, || taken.next_due_ns()) {
                Todo::Closure(closure) => state = self.run_closure(state, closure, now_ns, &mut turn),
                Todo::Run => {
                    state = self.run_once(state, now_ns, &mut turn);
                    break;
                }
                Todo::Nothing => break,
            }
        }
        let aftermath = self.put(&mut state);
        drop(state);
        if let Some(payload) = turn.panicked {
            self.report_panic(payload);
        }
        self.follow_up(aftermath, true);
        turn.ended_ns - taken.at_ns
    }

    fn close(self: Arc<Self>) {
        self.end_with_pool();
    }

    fn go_on(self: Arc<Self>) {
        self.go_on_now();
    }

    fn watchdog_ns(&self) -> u64 {
        let state = lock(&self.state);
        if state.place == Place::Over { NEVER } else { Self::watchdog_ns(self, &state) }
    }

    fn is_overdue(&self, now_ns: u64) -> bool {
        let mut state = lock(&self.state);
        let watchdog_ns = self.watchdog_ns(&state);
        let due_ns = state.when(0, None).map(|when| when.due_ns);
        let State { place, begun_ns, watched, .. } = &mut *state;
        match place {
            // Nothing is to run: the program has said so.
            Place::Queued(..) if self.pool.active() == 0 => false,
            Place::Queued(..) => watched.look_at_queue(due_ns, now_ns, watchdog_ns),
            Place::Taken => watched.look_at_run(*begun_ns, now_ns, watchdog_ns),
            Place::Resting | Place::Over => false,
        }
    }

    fn running(&self, now_ns: u64) -> Option<TickNow> {
        // For reports, which must not hang.
        let begun_ns = lock_soon(|| self.state.try_lock())?.begun_ns?;
        let Spec { name, site, .. } = &self.spec;
        let since = Duration::from_nanos(now_ns.saturating_sub(begun_ns));
        Some(TickNow { name: name.clone(), site, since })
    }

    fn shown(&self) -> Option<TickShown> {
        let period_ns = {
            let state = lock(&self.state);
            (state.place != Place::Over).then(|| state.schedule.period_ns())?
        };
        let stats = self.stats();
        let last = stats.window(Window::Secs5);
        let Spec { name, site, .. } = &self.spec;
        Some(TickShown {
            name: name.clone(),
            site,
            period: Duration::from_nanos(period_ns),
            tps: last.tps,
            took: (last.mspt.mean, last.mspt.max),
            late: (last.lateness.mean, last.lateness.max),
            skipped: stats.ledger.skipped,
        })
    }

    fn report(self: Arc<Self>) {
        let now_ns = self.ticks().now_ns();
        let mut state = lock(&self.state);
        let news = state.watched.take();
        drop(state);
        if let Some(incident) = news {
            Report::of(&self, incident, now_ns).deliver(incident.is_first);
        }
    }
}
