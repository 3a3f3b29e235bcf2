//! A queue of jobs with two ends: its thread takes the newest, others the oldest.

use crate::job::JobRef;
use heist_sync::atomic::{AtomicUsize, Ordering};
use heist_sync::{Mutex, lock};
use std::collections::VecDeque;

/// See the module.
#[derive(Debug)]
pub struct Queue {
    jobs: Mutex<Jobs>,
    /// So that an empty queue costs a load.
    len: AtomicUsize,
}

#[derive(Debug)]
struct Jobs {
    jobs: VecDeque<JobRef>,
    /// Where the next job goes: one more with each push, one less with each job taken from the new end.
    position: u64,
}

impl Queue {
    /// An empty queue.
    pub fn new() -> Self {
        let jobs = Jobs { jobs: VecDeque::new(), position: 0 };
        Self { jobs: Mutex::new(jobs), len: AtomicUsize::new(0) }
    }

    /// Whether it looks empty. To rely on the answer, a thread must fence between its announcement and the look, and whoever
    /// pushes between the push and its look for announcements.
    pub fn is_empty(&self) -> bool {
        self.len.load(Ordering::Relaxed) == 0
    }

    fn with<R>(&self, f: impl FnOnce(&mut Jobs) -> R) -> R {
        let mut jobs = lock(&self.jobs);
        let result = f(&mut jobs);
        self.len.store(jobs.jobs.len(), Ordering::Relaxed);
        result
    }

    /// Adds a job at the new end.
    pub fn push(&self, job: JobRef) {
        self.with(|q| {
            q.jobs.push_back(job);
            q.position += 1;
        });
    }

    /// Takes the newest job.
    pub fn pop(&self) -> Option<JobRef> {
        self.pop_above(0)
    }

    /// Takes the newest job, if it was pushed since `position` was read.
    pub fn pop_above(&self, position: u64) -> Option<JobRef> {
        if self.is_empty() {
            return None;
        }
        self.with(|q| {
            if q.position <= position {
                return None;
            }
            let job = q.jobs.pop_back()?;
            q.position -= 1;
            Some(job)
        })
    }

    /// The mark for [`pop_above`](Self::pop_above).
    pub fn position(&self) -> u64 {
        lock(&self.jobs).position
    }

    /// Takes the oldest job.
    pub fn steal(&self) -> Option<JobRef> {
        if self.is_empty() {
            return None;
        }
        self.with(|q| q.jobs.pop_front())
    }
}

impl Default for Queue {
    fn default() -> Self {
        Self::new()
    }
}
