//! What is measured of one job: one strand after the other on one thread, and the forks in between.

use super::clock;
use super::start::{Gathered, Spawn, Start};
use super::sums::{Path, Sums};
use heist_sync::StdArc as Arc;
use std::num::NonZeroU64;

/// The job that a thread runs just now, as far as it has come. Another one on top of it has its own.
#[derive(Debug)]
pub(crate) struct Frame {
    /// When the strand began that runs; `PAUSED` if none does, because the thread waits or runs something else.
    since: u64,
    path: Path,
    sums: Sums,
    /// The innermost fork in whose halves it is.
    site: usize,
    /// The code of the next fork, if that is not what lies in its slot; 0 if it is.
    next_code: usize,
    /// The forks that have not been joined, by the addresses of their frames on the thread's stack: the inner ones are lower, and come last.
    open: Vec<Open>,
    /// The loops in whose blocks it is, or whose blocks it has run.
    loops: Vec<Loop>,
    /// How many there have been, and one.
    loops_begun: NonZeroU64,
    /// Made when somebody asks.
    start: Option<Arc<Start>>,
    /// Tells frames apart.
    number: u64,
}

/// A fork whose halves have not both ended.
#[derive(Clone, Copy, Debug)]
struct Open {
    frame: usize,
    /// As it was at the fork,
    at: Path,
    work_at: u64,
    site_at: usize,
    /// and after the first half.
    first: Path,
    first_work: u64,
}

/// A loop, as far as this job has run blocks of it.
#[derive(Clone, Copy, Debug)]
struct Loop {
    number: NonZeroU64,
    /// Where it began, and how far its longest block came.
    at: Path,
    longest: Path,
}

/// What a job came to.
#[derive(Debug)]
pub struct Outcome {
    pub(super) sums: Sums,
    pub(super) path: Path,
    start: Option<Arc<Start>>,
}

const PAUSED: u64 = u64::MAX;

impl Frame {
    /// A job that has not begun. `code` is that of the fork whose half it is, 0 if it is none.
    pub fn new(code: usize, number: u64) -> Self {
        let mut sums = Sums::default();
        let site = sums.site(0, code);
        Self {
            since: PAUSED,
            path: Path::default(),
            sums,
            site,
            next_code: 0,
            open: Vec::new(),
            loops: Vec::new(),
            loops_begun: NonZeroU64::MIN,
            start: None,
            number,
        }
    }

    pub fn number(&self) -> u64 {
        self.number
    }

    /// As far as the last strand that has ended.
    pub fn so_far(&self) -> (u64, Path) {
        (self.sums.work, self.path)
    }

    pub fn sums(&mut self) -> &mut Sums {
        &mut self.sums
    }

    /// A strand begins.
    pub fn resume(&mut self, now: u64) {
        self.since = now;
    }

    /// The strand ends, if one runs. True if one did.
    pub fn pause(&mut self, now: u64) -> bool {
        if self.since == PAUSED {
            return false;
        }
        let time = now.saturating_sub(self.since).saturating_sub(clock::overhead());
        self.since = PAUSED;
        self.sums.work += time;
        self.sums.sites[self.site].work += time;
        self.path = self.path.then(Path { span: time, burdened: time });
        true
    }

    /// Time passes that no processor is used for.
    pub fn sleep(&mut self, time: u64) {
        self.path = self.path.then(Path { span: time, burdened: time });
    }

    /// A fork whose second half, `code`, lies in `frame`. The first begins now.
    pub fn fork(&mut self, frame: usize, code: usize, ended: u64, begun: u64) {
        self.pause(ended);
        self.forget_below(frame + 1);
        self.open.push(Open {
            frame,
            at: self.path,
            work_at: self.sums.work,
            site_at: self.site,
            first: Path::default(),
            first_work: 0,
        });
        let code = match std::mem::take(&mut self.next_code) {
            0 => code,
            known => known,
        };
        self.site = self.sums.site(self.site, code);
        self.sums.sites[self.site].forks += 1;
        self.sums.forks += 1;
        self.sums.pieces += 1;
        self.resume(begun);
    }

    /// What the next fork is for the second half of: one that is forked through a function that many have in common.
    pub fn fork_is_of(&mut self, code: usize) {
        self.next_code = code;
    }

    /// The job, which has just begun, is the half of such a fork.
    pub fn half_is_of(&mut self, code: usize) {
        self.site = self.sums.site(self.site, code);
    }

    /// Forks further down were left by a panic.
    fn forget_below(&mut self, frame: usize) {
        while let Some(open) = self.open.pop_if(|open| open.frame < frame) {
            self.site = open.site_at;
        }
    }

    /// The fork in `frame`, which is the last but for those that a panic has left.
    fn open(&mut self, frame: usize) -> Option<&mut Open> {
        self.forget_below(frame);
        self.open.last_mut().filter(|open| open.frame == frame)
    }

    /// The first half of the fork in `frame` has ended.
    pub fn end_first(&mut self, frame: usize, now: u64) {
        self.pause(now);
        let (path, work) = (self.path, self.sums.work);
        let Some(open) = self.open(frame) else { return };
        (open.first, open.first_work) = (path, work);
        self.path = open.at;
    }

    /// The second half has ended, here.
    pub fn end_second(&mut self, frame: usize, now: u64) {
        self.pause(now);
        self.join(frame);
        self.resume(now);
    }

    /// The second half has ended elsewhere.
    pub fn end_stolen(&mut self, frame: usize, outcome: &Outcome) {
        if self.open(frame).is_none() {
            return;
        }
        self.sums.stolen += 1;
        self.sums.sites[self.site].stolen += 1;
        self.append(outcome);
        self.join(frame);
    }

    /// Both halves have ended; the path is that to the end of the second.
    fn join(&mut self, frame: usize) {
        let Some(&mut Open { at, work_at, site_at, first, first_work, .. }) = self.open(frame) else {
            return;
        };
        self.open.pop();
        self.site = site_at;
        let second = self.path.migrated();
        let apart = first.longer(second).burdened;
        // Nobody is forced to let another thread have it: one after the other, the halves take no longer than their work.
        let together = at.burdened + (first_work - work_at) + (self.sums.work - first_work);
        self.path = Path { span: first.longer(second).span, burdened: apart.min(together) };
    }

    /// Something that this one has waited for, and that has run elsewhere.
    pub fn append(&mut self, outcome: &Outcome) {
        if let Some(start) = &outcome.start {
            start.set(self.start(), self.path);
        }
        self.sums.add(&outcome.sums);
        self.path = self.path.then(outcome.path);
    }

    fn start(&mut self) -> Arc<Start> {
        Arc::clone(self.start.get_or_insert_default())
    }

    /// A job is spawned; the strand ends. True if one ran.
    pub fn spawn(&mut self, now: u64) -> (Spawn, bool) {
        let had_strand = self.pause(now);
        self.sums.pieces += 1;
        (Spawn { from: self.start(), at: self.path }, had_strand)
    }

    /// This is the job that was spawned so.
    pub fn begin_at(&mut self, spawn: &Spawn) {
        self.start().set(Arc::clone(&spawn.from), spawn.at);
    }

    /// All jobs of a scope have ended that was opened in this one.
    pub fn gather(&mut self, gathered: &Gathered) {
        let start = self.start();
        self.sums.add(&gathered.sums);
        self.path = self.path.longer(gathered.end_from(&start));
    }

    /// The strand ends, and another one begins at once.
    pub fn cut(&mut self, now: u64) {
        if self.pause(now) {
            self.resume(now);
        }
    }

    /// A block begins, of the loop with this number, or of one that begins with it. The loop's number.
    pub fn begin_block(&mut self, number: Option<NonZeroU64>, now: u64) -> NonZeroU64 {
        self.cut(now);
        number.unwrap_or_else(|| {
            let at = self.path;
            self.loops_begun = self.loops_begun.saturating_add(1);
            self.loops.push(Loop { number: self.loops_begun, at, longest: at });
            self.loops_begun
        })
    }

    /// The block ends. Others of its loop could run beside it, so the path goes on where the loop began.
    pub fn end_block(&mut self, number: NonZeroU64, now: u64) {
        self.cut(now);
        self.sums.pieces += 1;
        // Those that a panic has left are further up.
        if let Some(of) = self.loops.iter_mut().rfind(|of| of.number == number) {
            of.longest = of.longest.longer(self.path);
            self.path = of.at;
        }
    }

    /// How many loops have begun and not ended.
    pub fn loops(&self) -> usize {
        self.loops.len()
    }

    /// All but the first `count` loops end: the path comes from their longest blocks.
    pub fn end_loops(&mut self, count: usize, now: u64) {
        self.cut(now);
        for of in self.loops.drain(count.min(self.loops.len())..) {
            self.path = self.path.longer(of.longest);
        }
    }

    /// The job has ended, and its last strand.
    pub fn end(self) -> Outcome {
        Outcome { sums: self.sums, path: self.path, start: self.start }
    }
}
