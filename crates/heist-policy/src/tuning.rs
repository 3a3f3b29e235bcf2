//! The numbers that were chosen, not derived, and why.
//!
//! ```
//! use heist_policy::tuning;
//! // A waiter gives its core away later than an idle worker goes to sleep: it still holds somebody's stack.
//! assert!(tuning::IDLE_SPIN_NS < tuning::SPIN_BEFORE_BLOCK_NS);
//! ```

/// Every so many turns a worker looks into the injector before its own queue.
///
/// A worker that keeps itself busy would otherwise never see what came from outside. A prime, so that it does not fall
/// into step with workloads that repeat in powers of two; large enough that the look costs about nothing per turn.
pub const INJECTOR_EVERY: u32 = 61;

/// What a worker has seen in the injector for so long comes before its own queue, even if that is only some turns.
///
/// A turn may take microseconds; 61 of them are then too long for whoever waits outside.
pub const INJECTED_WAIT_NS: u64 = 20_000;

/// In every so many turns a worker that leaves the injector alone looks at the clock.
///
/// The clock costs as much as half a turn of the shortest tasks.
pub const CLOCK_EVERY: u32 = 4;

/// Every so many turns a worker looks at its tasks before its jobs.
///
/// Jobs are taken newest first and make more jobs: without this, a long scope would keep the tasks beside it waiting to its
/// end. Tasks are short, so every fourth turn costs the jobs little.
pub const TASKS_EVERY: u32 = 4;

/// Every so many turns a busy worker looks whether sockets are ready and timers due.
pub const DRIVER_EVERY: u32 = 61;

/// The task in the next place is run before older ones for at most so many turns in a row.
///
/// Two tasks that wake each other through it would otherwise keep the rest of the queue waiting for ever.
pub const NEXT_RUNS_MOST: u32 = 4;

/// A thief leaves the task in a victim's next place alone until the victim has been in one turn for this long.
///
/// Its owner runs it at once after the turn, with warm caches: most turns are shorter than a theft.
pub const NEXT_STEALABLE_NS: u64 = 3_000;

/// How often the monitor looks at a pool whose tasks may be kept waiting.
///
/// A turn that is seen twice has lasted for at least this long and at most twice as long, and then others overtake it: so
/// tasks behind a blocked one wait for about half a millisecond. On a busy machine looks come less often: they interrupt nobody.
pub const LOOK_AT_TASKS_EVERY_NS: u64 = 200_000;

/// Looks without anything to do before the monitor goes back to sleep.
///
/// Waking it costs a worker 10 us and more, so a program that pauses for a few milliseconds between bursts should not pay for
/// that each time.
pub const QUIET_LOOKS_KEPT: u32 = 50;

/// A turn that lasts for so long is asked for its CPU time, and again after so long; if it has used some, it is a long one.
///
/// Threads that merely wait for a core are in one turn for that long, too, and asking costs 5 us: rarely enough not to be felt in
/// a busy server without long turns, soon enough for turns of many milliseconds.
pub const LONG_TURN_NS: u64 = 800_000;

/// For so long after the last long turn threads still prepare for the next.
///
/// Where there was one there are more, and telling the kernel costs a call for each thread.
pub const COURTESY_KEPT_NS: u64 = 250_000_000;

/// A look that comes so late was kept from its core by threads that compute.
///
/// The monitor does not interrupt a server whose threads sleep every now and then: that would cost it a tenth of its time. But
/// if somebody computes for long, it may be one of ours.
pub const LATE_LOOK_NS: u64 = 3_000_000;

/// Looks that interrupt whoever runs, after a late one: as many as it takes to see that nobody moves.
pub const LOOKS_AFTER_LATE: u32 = 2;

/// Rounds over all victims before a searcher gives up.
///
/// One round can miss work that moves between two victims while it passes. More rounds only burn the core that the
/// victim's owner may need.
pub const STEAL_ROUNDS: u32 = 4;

/// As [`STEAL_ROUNDS`], for a worker whose last work was a task; it does not go on looking after them either.
///
/// Tasks wait for sockets and timers more often than for each other, and in the driver a thread hears of those at once. Spinning
/// as after a job cost 50,000 timers three times tokio's CPU time.
pub const TASK_STEAL_ROUNDS: u32 = 1;

/// An idle worker keeps looking for this long before it parks.
///
/// As long as waking it would take: a wake costs the waker 8 to 20 us, so spinning for that long costs at most twice what
/// perfect knowledge of the future would.
pub const IDLE_SPIN_NS: u64 = 20_000;

/// A waiter spins for at least this long before it lends its permit and blocks.
///
/// Halves of one join rarely end at the same moment. At 50 us, a join of two 100 us halves took 233 us: the waiter was
/// asleep when the other half ended, and the way back cost more than the rest of the wait.
pub const SPIN_BEFORE_BLOCK_NS: u64 = 150_000;

/// A thief that has asked an owner for work waits this long before it forces the owner's deque open.
///
/// An owner that still pushes or pops answers within its current leaf. Forcing takes a `membarrier`, some 17 us while the
/// other cores are busy: affordable once per long leaf, ruinous per steal.
pub const FORCE_AFTER_NS: u64 = 50_000;

/// One worker in so many may search at once (but always one).
///
/// Searchers read the victims' shared lines. Beyond half of the workers they slow the working half more than they
/// shorten the way to new work.
pub const SEARCH_ONE_IN: usize = 2;

/// Every thread that holds a permit must have been asleep in the kernel for this long, with jobs queued, before spare
/// threads run those jobs.
///
/// Long enough that no ordinary lock, read or page fault looks like it; short enough that a program that would have hung
/// for ever merely stutters.
pub const LAST_RESORT_NS: u64 = 1_000_000_000;

/// How long a thread beyond the parallelism is kept without work: long enough that a program whose loops nest now and then does
/// not start threads each time.
pub const SPARE_KEPT_NS: u64 = 10_000_000_000;

/// A thief looks at most so often whether it shares a core with its victim.
///
/// Asking the kernel costs some 10 us, and going to another core as much again.
pub const PART_EVERY_NS: u64 = 1_000_000;
