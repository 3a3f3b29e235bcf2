//! fib without a cutoff: nothing but forks, so time per fork is the price of a fork.

mod chili;
#[cfg(feature = "heist")]
mod heist;
mod joined;
mod serial;

use std::hint::black_box;
use std::time::Instant;

use crate::args::Backend;
use crate::peers::{self, Backend as _, rayon::Rayon};
use crate::process::{Switches, cpu_time};
use crate::race::{Plan, Race};
use crate::report::{Judged, Table};
use crate::visit::{Visit, repeat};

/// The first repetition inside the pool also wakes it; the others meet a warm one.
const SAMPLES: usize = 3;

/// How often fib(n) forks: once for each call with n >= 2.
fn forks(n: u32) -> u64 {
    serial::fib(n + 1) - 1
}

/// Computes fib(n) inside a pool with `workers` workers.
type Inside = Box<dyn Fn(u32) -> Visit<u64>>;

/// How the closures hold their argument: it decides whether it stays in a register.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Capture {
    /// `|| fib(n - 1)`, as everyone writes it: the one that is judged.
    Reference,
    /// `move || fib(n - 1)`.
    Move,
}

fn rayon_inside(workers: usize, capture: Capture) -> Inside {
    let pool = Rayon::pool(workers);
    let fib = match capture {
        Capture::Reference => joined::fib::<Rayon>,
        Capture::Move => joined::fib_moved::<Rayon>,
    };
    Box::new(move |n| pool.install(|| repeat(SAMPLES, 1, || fib(black_box(n)))))
}

fn chili_inside(workers: usize, capture: Capture) -> Inside {
    let pool = peers::chili::pool(workers);
    let fib = match capture {
        Capture::Reference => chili::fib,
        Capture::Move => chili::fib_moved,
    };
    Box::new(move |n| {
        let mut scope = pool.scope();
        repeat(SAMPLES, 1, || fib(&mut scope, black_box(n)))
    })
}

fn inside(backend: Backend, workers: usize, capture: Capture) -> Inside {
    match backend {
        Backend::Serial => Box::new(|n| repeat(SAMPLES, 1, || serial::fib(black_box(n)))),
        Backend::Rayon => rayon_inside(workers, capture),
        Backend::Chili => chili_inside(workers, capture),
        #[cfg(feature = "heist")]
        Backend::HeistJoin => heist::join_inside(workers, capture),
        #[cfg(feature = "heist")]
        Backend::HeistFork => heist::fork_inside(workers, capture),
    }
}

const CONTESTANTS: &[(&str, Backend, usize)] = &[
    ("serial", Backend::Serial, 1),
    ("rayon, 1 worker", Backend::Rayon, 1),
    ("chili, 1 worker", Backend::Chili, 1),
    #[cfg(feature = "heist")]
    ("heist join, 1 worker", Backend::HeistJoin, 1),
    #[cfg(feature = "heist")]
    ("heist Fork, 1 worker", Backend::HeistFork, 1),
    ("rayon, 2 workers", Backend::Rayon, 2),
    ("chili, 2 workers", Backend::Chili, 2),
    #[cfg(feature = "heist")]
    ("heist join, 2 workers", Backend::HeistJoin, 2),
    #[cfg(feature = "heist")]
    ("heist Fork, 2 workers", Backend::HeistFork, 2),
];

pub fn line(plan: &mut Plan) -> Vec<Table> {
    vec![table(plan, Capture::Reference), table(plan, Capture::Move)]
}

fn table(plan: &mut Plan, capture: Capture) -> Table {
    let n = plan.size(32, 30);
    let mut race = Race::new();
    for &(name, backend, workers) in CONTESTANTS {
        let run = inside(backend, workers, capture);
        race.enter(name, move || run(n).per(forks(n)));
    }
    let series = race.run(plan.rounds(15, 7), &mut plan.rng);
    let title = match capture {
        Capture::Reference => format!("fib({n}), {} forks", forks(n)),
        Capture::Move => format!("fib({n}), {} forks, closures with move", forks(n)),
    };
    let mut table = Table::new("fib", title, ("ns per fork", 1.0), Judged::Best, &series);
    #[cfg(feature = "heist")]
    match capture {
        Capture::Reference => heist::judge(&mut table),
        Capture::Move => heist::report(&mut table),
    }
    table
}

/// Computes fib(n) once on one worker and prints it, for callgrind.
pub fn once(backend: Backend, n: u32) {
    println!("{}", one(backend, 1, n));
}

fn one(backend: Backend, workers: usize, n: u32) -> u64 {
    match backend {
        Backend::Serial => serial::fib(black_box(n)),
        Backend::Rayon => Rayon::pool(workers).install(|| joined::fib::<Rayon>(black_box(n))),
        Backend::Chili => chili::fib(&mut peers::chili::pool(workers).scope(), black_box(n)),
        #[cfg(feature = "heist")]
        Backend::HeistJoin => heist::join_once(workers, n),
        #[cfg(feature = "heist")]
        Backend::HeistFork => heist::fork_once(workers, n),
    }
}

/// Computes fib(n) on two workers and prints what the kernel had to do for it.
pub fn switches(backend: Backend, n: u32) {
    let run = inside(backend, 2, Capture::Reference);
    run(n.min(20));
    let (switches, cpu, start) = (Switches::now(""), cpu_time(), Instant::now());
    let value = black_box(run(n)).value;
    let (wall, cpu) = (start.elapsed(), cpu_time() - cpu);
    let switches = Switches::now("").since(switches);
    println!("fib({n}) = {value}, {} times on 2 workers: {wall:?}, CPU {cpu:?}", SAMPLES + 1);
    println!("{} voluntary and {} involuntary switches", switches.voluntary, switches.involuntary);
}
