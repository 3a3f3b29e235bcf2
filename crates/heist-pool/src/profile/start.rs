//! Where a job began, seen from the job that it belongs to.

use super::sums::{Path, Sums};
use heist_sync::StdArc as Arc;
use std::sync::OnceLock;

/// A job's beginning. How far that is from the beginning of the job that has forked it is written down when the two are joined; until then
/// nobody asks.
#[derive(Default, Debug)]
pub(crate) struct Start(OnceLock<(Arc<Start>, Path)>);

impl Start {
    /// It began when `from` had come as far as `at`.
    pub fn set(&self, from: Arc<Start>, at: Path) {
        // Each job is joined once.
        let _ = self.0.set((from, at));
    }

    /// The path from the beginning of `ancestor` to this one; from the first that is known, if it has no such ancestor.
    fn path_from(&self, ancestor: &Start) -> Path {
        let (mut path, mut here) = (Path::default(), self);
        while !std::ptr::eq(here, ancestor)
            && let Some((from, at)) = here.0.get()
        {
            path = at.then(path);
            here = from;
        }
        path
    }
}

/// A job that was spawned while a profile is taken: where, and how far that job had come.
#[derive(Debug)]
pub struct Spawn {
    pub(super) from: Arc<Start>,
    pub(super) at: Path,
}

/// What the jobs of a scope have come to.
#[derive(Default, Debug)]
pub struct Gathered {
    pub(super) sums: Sums,
    /// For each job that has spawned some: how far the longest of those came, from its beginning.
    ends: Vec<(Arc<Start>, Path)>,
}

impl Gathered {
    /// A job has ended.
    pub(super) fn add(&mut self, spawn: Spawn, sums: &Sums, path: Path) {
        self.sums.add(sums);
        let end = spawn.at.then(path.migrated());
        match self.ends.iter_mut().find(|(from, _)| Arc::ptr_eq(from, &spawn.from)) {
            Some((_, longest)) => *longest = longest.longer(end),
            None => self.ends.push((spawn.from, end)),
        }
    }

    /// How far the longest came, from the beginning of `ancestor`.
    pub(super) fn end_from(&self, ancestor: &Start) -> Path {
        let ends = self.ends.iter().map(|(from, end)| from.path_from(ancestor).then(*end));
        ends.fold(Path::default(), Path::longer)
    }
}
