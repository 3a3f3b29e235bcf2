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

/// A worker whose own queue is half full takes at most so many tasks from the injector at once.
///
/// About a quarter of what it runs until it looks again: those in the injector go on, too. If it took as many as it runs, each poll of a
/// crowd of tasks that yield would drive another task out to the injector, and half of those would go on with another worker's caches.
pub const INJECTED_MOST: usize = 16;

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

/// The task in the LIFO slot is run before older ones for at most so many polls in a row.
///
/// Two tasks that wake each other through it would otherwise keep the rest of the queue waiting forever.
pub const LIFO_RUNS_MOST: u32 = 4;

/// A thief leaves the task in a victim's LIFO slot alone until the victim has been in one poll for this long.
///
/// Its owner runs it at once after the poll, with warm caches: most polls are shorter than a theft.
pub const LIFO_STEALABLE_NS: u64 = 3_000;

/// How soon the monitor looks at a pool that has asked to be watched, and how often while somebody has to be sent.
///
/// A poll that is seen twice has lasted for at least this long and at most twice as long, and then others overtake it: so tasks behind
/// a blocked one wait for about half a millisecond.
pub const LOOK_EVERY_NS: u64 = 200_000;

/// A report of stalls looks at every thread twice, this far apart: one that has used no CPU time meanwhile, and does not wait for a core, sleeps.
///
/// The kernel adds CPU time up to the nanosecond whenever it is asked, so this need not be long; and somebody waits for the report.
pub const STALL_LOOK_NS: u64 = 100_000_000;

/// Whoever watches for stalls looks so many times within the time that the program allows, so that a stall is told at most a quarter late.
pub const STALL_LOOKS: u32 = 4;

/// But at least so often, since a thread that was asleep at two looks might have computed between them.
pub const STALL_LOOK_MOST_NS: u64 = 1_000_000_000;

/// In a report that somebody asks for, what computes for so long is called long-running, if the program does not say how long that is.
pub const STALL_LONG_NS: u64 = 1_000_000_000;

/// Looks that find nothing to do come half as often each time, down to this.
///
/// Each one interrupts a worker of a busy server for some microseconds. Go's looks at most every 10 ms; 2 ms keep what begins in
/// the middle of a busy time within a few milliseconds.
pub const LOOK_EVERY_MOST_NS: u64 = 2_000_000;

/// A poll that has lasted for so long counts as blocked where the CPU times of threads are unknown.
pub const UNKNOWN_BLOCKED_NS: u64 = 20_000_000;

/// A child process in which a thread has not begun to run for this long after its start can start none.
pub const CHILD_START_NS: u64 = 5_000_000_000;

/// A pool that follows the machine's limits reads them so often while it is busy.
pub const FOLLOW_EVERY_NS: u64 = 1_000_000_000;

/// A thread whose permit is not active any more leaves the rest of its loop to others for this long, then runs some of it itself. Each time in
/// a row that nobody takes it, both last twice as long.
pub const ASIDE_NS: u64 = 20_000_000;

/// For how long it does.
pub const ASIDE_SLICE_NS: u64 = 1_000_000;

/// So often at most.
pub const ASIDE_DOUBLINGS: u32 = 16;

/// How often it looks whether somebody has taken the rest.
pub const ASIDE_LOOK_NS: u64 = 1_000_000;

/// A thread that runs tasks without a permit looks so often, counted in polls, whether those that hold one still compute.
pub const OVERTAKER_LOOK_EVERY: u32 = 16;

/// A thread that has served the driver because all that hold a permit compute goes on doing so for this long after.
///
/// Programs that compute in bursts have pauses of some milliseconds between them.
pub const RESIDENT_KEPT_NS: u64 = 100_000_000;

/// The thread that serves the driver while others compute asks the kernel for this much of a CPU at a time: the least there is.
///
/// Linux from 6.12 on lets a thread that wakes up and asks for less than the one that runs have its CPU at once.
pub const RESIDENT_SLICE_NS: u64 = 100_000;

/// Others' jobs and tasks run on top of a wait that cannot lend its permit to so many others at most.
///
/// A wait that runs a task which waits, and so on, needs stack for all of them. Some kilobytes each leave most of a stack of 2 MiB.
pub const HELP_DEPTH_MOST: u32 = 64;

/// How long the pool waits before it asks for a thread again that the system has refused; doubled each time.
pub const REFUSED_WAIT_NS: u64 = 1_000_000;

/// The longest of these waits.
pub const REFUSED_WAIT_MOST_NS: u64 = 100_000_000;

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

/// If the program has asked for rescue: every thread that runs jobs must have used no CPU time for this long, with jobs queued,
/// before a spare thread runs those.
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

/// How late a tick must be before another worker may take it, unless the program says otherwise.
///
/// A tick that moves leaves its caches behind, and most are late only because the one before them has not ended yet. 3 ms are a
/// sixteenth of the period of a game server, so what is stolen after them is still in time.
pub const TICK_STEAL_AFTER_NS: u64 = 3_000_000;

/// Over how long the share of a worker's time that ticks take is looked at.
///
/// Two periods of a game server: one long run among short ones does not count as too much.
pub const TICK_WINDOW_NS: u64 = 100_000_000;

/// Ticks take at most so much of a worker's time while jobs or tasks wait.
///
/// Ticks beyond the machine's means would otherwise starve everything else for ever. The rest is enough for jobs and tasks to go on,
/// and too little to matter to ticks that fit.
pub const TICK_PERCENT_MOST: u64 = 95;

/// Closures that were submitted to a tick run for about so long in a row, then others have their turn.
///
/// Less than the lateness after which ticks are stolen, so that a row of closures sends no tick to another worker.
pub const CLOSURES_IN_A_ROW_NS: u64 = 2_000_000;

/// No submitted closure begins so shortly before the worker's next tick is due.
///
/// Most closures are shorter than this, so most ticks begin in time.
pub const CLOSURES_BEFORE_DUE_NS: u64 = 100_000;

/// How precisely the kernel is asked to wake a thread that waits for a tick.
///
/// The default of Linux is 50 us, which is most of a tick's lateness on an idle machine.
pub const TICK_TIMER_SLACK_NS: u64 = 1_000;

/// The watchdog of ticks does not look more often than this, whatever is asked of it: it looks at every tick.
pub const TICK_WATCH_LEAST_NS: u64 = 1_000_000;

/// A thread does not sleep for less than this until a tick is due.
///
/// To fall asleep and to wake up costs several microseconds. On an idle machine a thread wakes up later than it has asked for by more than
/// this.
pub const TICK_SLEEP_LEAST_NS: u64 = 30_000;

/// It sleeps for so much longer for each tick that it has run since it last slept, but for the first.
///
/// Thousands of ticks are due within microseconds of each other. Those that are due while it sleeps run one after the other for the price of
/// one sleep, which is ten times what a short run costs.
pub const TICK_SLEEP_MORE_NS: u64 = 100_000;

/// It does not sleep for longer than this for their sake.
///
/// As late as a timer of tokio is on average, whose time is cut into milliseconds.
pub const TICK_SLEEP_MORE_MOST_NS: u64 = 500_000;

/// A run that should take so long is reason to wake another worker, if a tick is due before its end.
///
/// A few times what it takes to wake one.
pub const TICK_LONG_NS: u64 = 100_000;

/// So is a run that begins so late, however short it is.
///
/// Twice as late as ticks are that wait for each other ([`TICK_SLEEP_MORE_MOST_NS`]), and before they are late enough to be taken over.
pub const TICK_BEHIND_NS: u64 = 1_000_000;

/// The mean of a tick's run times may change by so much before others hear of it.
pub const TICK_LOAD_NOISE_NS: u64 = 500;

/// A thread that could not run the tick it has waited for looks again after this long.
pub const TICK_RETRY_NS: u64 = 1_000_000;

/// Where time is virtual, a thread may be inside of one poll or tick for so long before others run what waits behind it.
///
/// Tests rely on one order, also on a machine so busy that a thread gets no core for a while. Only what has blocked for good is overtaken.
pub const MANUAL_CLOCK_LOOK_NS: u64 = 1_000_000_000;

/// After so long `ManualClock::advance` says that it still waits for its pools to be quiet.
pub const MANUAL_CLOCK_PATIENCE_NS: u64 = 10_000_000_000;

/// A tick that should run near a node is left for so long to those on nearer nodes, for each step of distance.
///
/// Long enough for one of those to come by between two short polls or ticks, and short beside the lateness at which ticks are taken over.
pub const TICK_FAR_NS: u64 = 1_000_000;

/// How often the costs of taking a job from another thread are measured before the first profile; the median counts.
///
/// Each takes some ten microseconds, and a moment for a thread to fall asleep.
pub const PROFILE_ROUNDS: usize = 15;

/// What it costs to take a job from another thread, and to wake a thread for one, where no thread can be had to measure it.
pub const PROFILE_STEAL_NS: u64 = 2_000;
/// See there.
pub const PROFILE_WAKE_NS: u64 = 20_000;

/// A profile whose pieces are shorter than this on average says nothing about paths.
///
/// To measure a fork costs some ten times what the fork does; of a microsecond that is a few per cent, which can be subtracted.
pub const PROFILE_FINE_NS: u64 = 1_000;

/// How many spans the predicted time has beside its share of the work, at most: the `c` in T_P <= T_1/P + c T_inf.
///
/// One for the path itself, and one for looking for work along it.
pub const PROFILE_SPAN_FACTOR: f64 = 2.0;
