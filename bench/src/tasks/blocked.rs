//! Both workers blocked for 100 ms, and nobody said so: what of the tasks beside them, and of a timer? And if only one is
//! blocked, what of the task that it would have run next?

use std::cell::RefCell;
use std::hint;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::figures::{Figures, Limit, compare_by, row};
use super::runtime::{Runtime, Tokio, WORKERS};
use crate::race::{Plan, Race, Series};
use crate::report::{Bar, Judged, Row, Sense, Table};
use crate::visit::Visit;

const LINE: &str = "blocked";
const BLOCK: Duration = Duration::from_millis(100);
const TIMER: Duration = Duration::from_millis(10);
/// Spawned by each task before it blocks, and from outside while the workers are blocked.
const NEIGHBOURS: usize = 5;
/// Before a round: the pool is asleep after the one, but not after the other.
const REST: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(3)];
const MS: f64 = 1e6;

const TIMER_MAX_MS: f64 = 2.0;

/// How a worker is held.
#[derive(Clone, Copy)]
enum Block {
    Sleep,
    Spin,
}

impl Block {
    const ALL: [Block; 2] = [Block::Sleep, Block::Spin];

    fn title(self) -> &'static str {
        match self {
            Block::Sleep => "thread::sleep",
            Block::Spin => "busy loop",
        }
    }

    /// How long a queued task may have to wait.
    fn limit_ms(self) -> f64 {
        match self {
            Block::Sleep => 1.0,
            Block::Spin => 6.0,
        }
    }

    fn hold(self) {
        match self {
            Block::Sleep => thread::sleep(BLOCK),
            Block::Spin => {
                let start = Instant::now();
                while start.elapsed() < BLOCK {
                    hint::spin_loop();
                }
            }
        }
    }
}

pub fn line(plan: &mut Plan) -> Vec<Table> {
    let mut rows = Vec::new();
    for block in Block::ALL {
        if plan.wants_row(block.title()) {
            rows.extend(of(block, plan));
            rows.push(next_of(block, plan));
        }
    }
    if rows.is_empty() {
        return Vec::new();
    }
    let title = format!(
        "workers blocked for {} ms, unannounced; all {WORKERS} unless told otherwise",
        BLOCK.as_millis()
    );
    vec![Table::with_rows(LINE, title, "ms", Judged::Median, rows)]
}

/// The delay of tasks and of a timer beside one kind of block.
fn of(block: Block, plan: &mut Plan) -> [Row; 2] {
    let timers = RefCell::new(Timers::default());
    let mut race = Race::new();
    race.enter("tokio", || {
        let outcome = blocked::<Tokio>(block);
        timers.borrow_mut().tokio.push(outcome.timer);
        outcome.visit()
    });
    #[cfg(feature = "heist")]
    race.enter("heist", || {
        let outcome = blocked::<super::runtime::Heist>(block);
        timers.borrow_mut().heist.push(outcome.timer);
        outcome.visit()
    });
    let series = race.run(plan.rounds(7, 3), &mut plan.rng);
    let timers = timers.into_inner();

    let name = |what: &str| format!("{what} beside a {}", block.title());
    let limit = Limit::Figure(block.limit_ms());
    let mut tasks =
        compare_by(&name("queued tasks, worst"), &series, &[limit], |series| Figures::of(series, MS));
    if let Some(heist) = series.iter().find(|series| series.name == "heist") {
        tasks.bars.push(worst(&heist.samples_ns));
    }
    // As for the tasks, the first round does not count.
    let figures = |late: &[f64]| {
        let series = Series { name: String::new(), samples_ns: late[1..].to_vec() };
        Figures::of(&series, MS)
    };
    let heist = (!timers.heist.is_empty()).then(|| figures(&timers.heist));
    let limit = Limit::Figure(TIMER_MAX_MS);
    let mut timer = row(&name("a 10 ms timer"), figures(&timers.tokio), heist, &[limit]);
    if !timers.heist.is_empty() {
        timer.bars.push(worst(&timers.heist[1..]));
    }
    [tasks, timer]
}

/// The delay of the one task that a blocked worker would have run next, while the other worker is idle.
fn next_of(block: Block, plan: &mut Plan) -> Row {
    let mut race = Race::new();
    race.enter("tokio", || beside_next::<Tokio>(block));
    #[cfg(feature = "heist")]
    race.enter("heist", || beside_next::<super::runtime::Heist>(block));
    let series = race.run(plan.rounds(7, 3), &mut plan.rng);
    let name = format!("the next task, 1 worker in a {}", block.title());
    let limit = Limit::Figure(block.limit_ms());
    compare_by(&name, &series, &[limit], |series| Figures::of(series, MS))
}

/// The longest delay after all rests.
fn beside_next<R: Runtime>(block: Block) -> Visit<()> {
    let delays = REST.map(|rest| {
        thread::sleep(rest);
        let (delay, delays) = channel();
        let blocker = R::spawn_from_outside(async move {
            drop(R::spawn(neighbour(delay)));
            block.hold();
        });
        R::block_on(async { blocker.await.expect("no blocker panics") });
        delays.recv().expect("the neighbour tells its delay")
    });
    let worst = delays.iter().max().expect("there are rests");
    Visit { value: (), samples_ns: vec![worst.as_nanos() as f64] }
}

/// Of all rounds, for reading.
fn worst(samples_ns: &[f64]) -> Bar {
    let worst = samples_ns.iter().copied().fold(0.0, f64::max);
    Bar { measured: worst / MS, what: "at worst".into(), sense: Sense::Reported, limit: f64::NAN }
}

/// How late the timers of all rounds were.
#[derive(Default)]
struct Timers {
    tokio: Vec<f64>,
    heist: Vec<f64>,
}

struct Outcome {
    tasks: usize,
    /// The longest that a task waited.
    delay: f64,
    timer: f64,
}

impl Outcome {
    fn visit(self) -> Visit<usize> {
        Visit { value: self.tasks, samples_ns: vec![self.delay] }
    }
}

/// One round, after each of the rests in turn; the worse of both.
fn blocked<R: Runtime>(block: Block) -> Outcome {
    let [long, short] = REST.map(|rest| after::<R>(rest, block));
    Outcome {
        tasks: long.tasks + short.tasks,
        delay: long.delay.max(short.delay),
        timer: long.timer.max(short.timer),
    }
}

fn after<R: Runtime>(rest: Duration, block: Block) -> Outcome {
    thread::sleep(rest);
    let deadline = Instant::now() + TIMER;
    let timer = R::spawn_from_outside(async move {
        R::sleep_until(deadline).await;
        deadline.elapsed()
    });
    // The timer is to be set before the workers are held.
    thread::sleep(Duration::from_millis(1));

    let (delay, delays) = channel();
    let blockers: Vec<_> = (0..WORKERS)
        .map(|_| {
            let delay = delay.clone();
            R::spawn_from_outside(async move {
                for _ in 0..NEIGHBOURS {
                    drop(R::spawn(neighbour(delay.clone())));
                }
                block.hold();
            })
        })
        .collect();
    thread::sleep(Duration::from_millis(5));
    for _ in 0..NEIGHBOURS {
        drop(R::spawn_from_outside(neighbour(delay.clone())));
        thread::sleep(Duration::from_millis(2));
    }
    drop(delay);
    let timer = R::block_on(async {
        for blocker in blockers {
            blocker.await.expect("no blocker panics");
        }
        timer.await.expect("the timer's task does not panic")
    });
    let delays: Vec<Duration> = delays.iter().collect();
    let worst = delays.iter().max().expect("every neighbour tells its delay");
    Outcome { tasks: delays.len(), delay: worst.as_nanos() as f64, timer: timer.as_nanos() as f64 }
}

/// Tells how long it had to wait for its turn.
fn neighbour(delay: Sender<Duration>) -> impl Future<Output = ()> + Send {
    let queued = Instant::now();
    async move { delay.send(queued.elapsed()).expect("somebody collects the delays") }
}
