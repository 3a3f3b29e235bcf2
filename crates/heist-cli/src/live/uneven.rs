//! Four workers with uneven work, steered from the page: round after round each begins with its own pieces, and whoever is done steals from the
//! others. Some tasks and ticks run beside it.

use heist::ThreadPool;
use heist::live::demo::{Demo, Order};
use heist::live::frame::DemoNow;
use heist::tick::{self, Next};
use std::error::Error;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const WORKERS: usize = 4;
/// How long a piece takes: long enough to be seen.
const PIECE: Duration = Duration::from_millis(60);
/// Between two rounds.
const REST: Duration = Duration::from_millis(500);
/// Pieces of a round.
const PIECES: u32 = 110;

/// See the module.
pub struct Uneven {
    state: Mutex<State>,
    changed: Condvar,
    /// Pieces only wait, because there are fewer cores than workers.
    only_waits: bool,
}

struct State {
    runs: bool,
    work: u64,
    /// What each worker begins the next round with.
    loads: [u32; WORKERS],
}

/// A number of many digits from a small one.
fn mixed(n: u64) -> u64 {
    let n = (n ^ n >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ n >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ n >> 31
}

/// What each worker begins with: one has most of it.
fn loads(work: u64) -> [u32; WORKERS] {
    let random = mixed(work.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let rich = random as usize % WORKERS;
    let mut left = PIECES;
    let mut loads = [0; WORKERS];
    for (n, load) in loads.iter_mut().enumerate().filter(|(n, _)| *n != rich) {
        *load = 4 + ((random >> (8 * (n + 1)) & 0xff) % 13) as u32;
        left -= *load;
    }
    loads[rich] = left;
    loads
}

impl Uneven {
    /// Makes the pool and begins.
    pub fn start(work: u64) -> Result<Arc<Self>, Box<dyn Error>> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let demo = Arc::new(Self {
            state: Mutex::new(State { runs: true, work, loads: loads(work) }),
            changed: Condvar::new(),
            only_waits: cores < WORKERS,
        });
        let pool = heist::ThreadPoolBuilder::new().num_threads(WORKERS).build()?;
        let its = Arc::clone(&demo);
        std::thread::Builder::new().name("demo".into()).spawn(move || its.conduct(&pool))?;
        Ok(demo)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn runs(&self) -> bool {
        self.lock().runs
    }

    /// Round after round, while the page does not say otherwise.
    fn conduct(&self, pool: &ThreadPool) {
        beside(pool);
        loop {
            let mut state = self.lock();
            while !state.runs {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            let (work, begun) = (state.work, state.loads);
            drop(state);
            let left = self.round(pool, begun);
            let mut state = self.lock();
            if state.work == work {
                // Paused in the middle: the rest is for later.
                state.loads = if left.iter().sum::<u32>() > 0 { left } else { loads(work) };
            }
            drop(state);
            std::thread::sleep(REST);
        }
    }

    /// One round. Returns what was left when it was paused, or given other work.
    fn round(&self, pool: &ThreadPool, loads: [u32; WORKERS]) -> [u32; WORKERS] {
        let work = self.lock().work;
        let all_left: [AtomicU32; WORKERS] = Default::default();
        let left = &all_left;
        pool.scope(|scope| {
            scope.spawn_broadcast(move |scope, context| {
                let mine = context.index() % WORKERS;
                for _ in 0..loads[mine] {
                    scope.spawn(move |_| {
                        let is_off = {
                            let state = self.lock();
                            !state.runs || state.work != work
                        };
                        match is_off {
                            true => drop(left[mine].fetch_add(1, Ordering::Relaxed)),
                            false => self.piece(),
                        }
                    });
                }
            });
        });
        all_left.map(AtomicU32::into_inner)
    }

    fn piece(&self) {
        if self.only_waits {
            return std::thread::sleep(PIECE);
        }
        let begun = Instant::now();
        while begun.elapsed() < PIECE {
            std::hint::spin_loop();
        }
    }
}

/// Tasks and ticks, so that their panels have something to show.
fn beside(pool: &ThreadPool) {
    for n in 0..6 {
        let name = [
            "accept connections",
            "read a socket",
            "write a log",
            "poll a queue",
            "refresh a cache",
            "send mail",
        ][n];
        let pause = Duration::from_millis(70 + 130 * n as u64);
        heist::task::Builder::new().name(name).spawn_in(pool, async move {
            loop {
                heist::time::sleep(pause).await;
            }
        });
    }
    heist::task::Builder::new().name("a task that blocks its thread now and then").spawn_in(pool, async {
        loop {
            heist::time::sleep(Duration::from_secs(4)).await;
            std::thread::sleep(Duration::from_millis(120));
        }
    });
    for (name, period, takes) in [("region 0", 50, 4), ("region 1", 50, 9), ("autosave", 1000, 30)] {
        let tick = tick::every(Duration::from_millis(period)).name(name);
        tick.spawn_on(pool, move |_| {
            std::thread::sleep(Duration::from_millis(takes));
            Next::Continue
        });
    }
}

impl Demo for Uneven {
    fn order(&self, order: Order) {
        let mut state = self.lock();
        match order {
            Order::Start => state.runs = true,
            Order::Pause => state.runs = false,
            Order::Reseed => {
                state.work += 1;
                state.loads = loads(state.work);
                state.runs = true;
            }
        }
        drop(state);
        self.changed.notify_all();
    }

    fn now(&self) -> DemoNow {
        let work = self.lock().work;
        let loads = loads(work).map(|n| n.to_string());
        let ms = PIECE.as_millis();
        let how = match self.only_waits {
            true => format!(
                "This machine has fewer than {WORKERS} cores, so each piece only waits instead of computing: that way {WORKERS} workers \
                 are {WORKERS} here, too, and what waits is shown as work."
            ),
            false => "Each piece computes.".into(),
        };
        let note = format!(
            "Work {work}: the workers begin each round with {} pieces of {ms} ms; whoever is done steals from the others. {how}",
            loads.join(", ")
        );
        DemoNow { runs: self.runs(), note }
    }

    fn only_waits(&self) -> bool {
        self.only_waits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_worker_has_most_of_it_and_all_add_up() {
        for work in 0..1000 {
            let loads = loads(work);
            assert_eq!(loads.iter().sum::<u32>(), PIECES);
            assert!(loads.iter().all(|&n| n >= 4) && loads.iter().max() > Some(&(PIECES / 2)), "{loads:?}");
        }
        assert_ne!(loads(1), loads(2));
    }

    /// What is left at a pause is what the next round begins with, and nothing is lost.
    #[test]
    fn a_pause_keeps_what_is_left() {
        let pool = heist::ThreadPoolBuilder::new().num_threads(WORKERS).build().unwrap();
        let state = State { runs: false, work: 1, loads: loads(1) };
        let demo = Uneven { state: Mutex::new(state), changed: Condvar::new(), only_waits: true };
        assert_eq!(demo.round(&pool, [1, 2, 3, 40]), [1, 2, 3, 40]);
        demo.order(Order::Start);
        assert!(demo.runs());
        assert_eq!(demo.round(&pool, [1, 1, 0, 2]), [0; WORKERS]);
        let before = demo.now().note;
        demo.order(Order::Reseed);
        assert_ne!(demo.now().note, before);
        assert_eq!(demo.round(&pool, [1, 0, 0, 0]), [0; WORKERS]);
    }
}
