//! Random programs over the whole surface against their serial meaning.
//!
//! A program is a tree of verbs made from a seed. What it must do is computed by walking the tree; then two pools run it, from
//! several threads at once, and each node's count must be the same.
//!
//! The public bug behind this kind of test is oneTBB #1684 (the last worker leaves while work is spawned): a combination that no
//! hand-written test had.

use crate::rig::fenced;
use crate::rig::pool::pool;
use crate::rig::scale::scaled;
use crate::rig::seed::{base_seed, generator};
use crate::rig::watchdog::watch;
use heist::ThreadPool;
use heist_sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use heist_sync::rand::Random;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex};

#[derive(Clone, Copy, PartialEq, Debug)]
enum Verb {
    /// Computes for so many turns.
    Leaf(u32),
    Sequence,
    Join,
    JoinContext,
    Fork,
    Scope,
    ScopeFifo,
    InPlaceScope,
    /// Children run detached; the program's end waits for them.
    Spawn,
    SpawnFifo,
    Blocking,
    /// Sleeps inside of `blocking`, so that the index really goes away.
    BlockingSleep,
    YieldNow,
    YieldLocal,
    /// The node itself once on every index.
    Broadcast,
    ScopeBroadcast,
    /// Children run in the other pool.
    Install,
    /// One half of a join unwinds after its child, and it is caught here.
    CaughtFirst,
    CaughtSecond,
    /// A job of a scope unwinds.
    CaughtSpawn,
}

use Verb::*;

const BRANCHES: [Verb; 16] = [
    Sequence,
    Join,
    Join,
    JoinContext,
    Fork,
    Fork,
    Scope,
    ScopeFifo,
    InPlaceScope,
    Spawn,
    SpawnFifo,
    Blocking,
    Install,
    CaughtFirst,
    CaughtSecond,
    CaughtSpawn,
];

struct Node {
    verb: Verb,
    children: Vec<usize>,
}

/// The nodes of a program; the root is the first.
struct Program {
    nodes: Vec<Node>,
}

impl Program {
    fn random(random: &mut Random, size: usize) -> Self {
        let mut program = Self { nodes: Vec::new() };
        program.grow(random, size.max(1), 0);
        program
    }

    /// Adds a subtree of about `size` nodes and returns its root.
    fn grow(&mut self, random: &mut Random, size: usize, depth: usize) -> usize {
        let id = self.nodes.len();
        if size <= 1 || depth > 24 {
            let verb = match random.below(16) {
                0 => YieldNow,
                1 => YieldLocal,
                2 => Broadcast,
                3 => ScopeBroadcast,
                4 => BlockingSleep,
                _ => Leaf([0, 1, 10, 100, 2000, 30_000][random.below(6)]),
            };
            self.nodes.push(Node { verb, children: Vec::new() });
            return id;
        }
        let verb = BRANCHES[random.below(BRANCHES.len())];
        self.nodes.push(Node { verb, children: Vec::new() });
        let children = 1 + random.below(4);
        let mut left = size - 1;
        for n in (1..=children).rev() {
            // Lopsided on purpose: thieves get the large and the small.
            let share = if n == 1 { left } else { random.below(left + 1) };
            if share > 0 {
                let child = self.grow(random, share, depth + 1);
                self.nodes[id].children.push(child);
                left -= share;
            }
        }
        id
    }

    /// How often each node runs, by the meaning of the verbs alone. `threads`: of both pools.
    fn expected(&self, threads: [usize; 2]) -> Vec<u32> {
        fn walk(program: &Program, id: usize, here: usize, threads: [usize; 2], counts: &mut [u32]) {
            let node = &program.nodes[id];
            counts[id] += match node.verb {
                Broadcast | ScopeBroadcast => threads[here] as u32,
                _ => 1,
            };
            let there = if node.verb == Install { 1 - here } else { here };
            for &child in &node.children {
                walk(program, child, there, threads, counts);
            }
        }
        let mut counts = vec![0; self.nodes.len()];
        walk(self, 0, 0, threads, &mut counts);
        counts
    }
}

/// Counts what is detached and lets the outside wait for it.
#[derive(Default)]
struct Detached {
    pending: Mutex<usize>,
    none: Condvar,
}

impl Detached {
    fn add(&self) {
        *self.pending.lock().unwrap() += 1;
    }

    fn done(&self) {
        let mut pending = self.pending.lock().unwrap();
        *pending -= 1;
        if *pending == 0 {
            self.none.notify_all();
        }
    }

    fn wait(&self) {
        let mut pending = self.pending.lock().unwrap();
        while *pending > 0 {
            pending = self.none.wait(pending).unwrap();
        }
    }
}

struct World {
    program: Program,
    pools: [ThreadPool; 2],
    counts: Vec<AtomicU32>,
    detached: Detached,
    thrown: AtomicUsize,
}

/// What a thrown half carries.
struct Thrown(usize);

impl World {
    fn run_all(self: &Arc<Self>, children: &[usize], here: usize) {
        children.iter().for_each(|&child| self.run(child, here));
    }

    /// Splits the children in two and hands both parts to `two`.
    fn halves(
        self: &Arc<Self>,
        children: &[usize],
        here: usize,
        two: impl FnOnce(&(dyn Fn() + Sync), &(dyn Fn() + Sync)),
    ) {
        let (a, b) = children.split_at(children.len() / 2);
        two(&|| self.run_all(a, here), &|| self.run_all(b, here));
    }

    fn throw(&self, id: usize) -> ! {
        self.thrown.fetch_add(1, Ordering::Relaxed);
        // Without the panic hook: its output would drown a real failure.
        resume_unwind(Box::new(Thrown(id)))
    }

    fn catch(&self, id: usize, f: impl FnOnce()) {
        let payload = catch_unwind(AssertUnwindSafe(f)).expect_err("it throws");
        match payload.downcast::<Thrown>() {
            Ok(thrown) => assert_eq!(thrown.0, id, "a panic came to another's catch"),
            Err(other) => resume_unwind(other),
        }
    }

    fn detach(self: &Arc<Self>, child: usize, here: usize) -> impl FnOnce() + Send + 'static {
        /// Counts the job out even if an assertion in it fails, so that the failure is reported and not a hang.
        struct Out(Arc<World>);
        impl Drop for Out {
            fn drop(&mut self) {
                self.0.detached.done();
            }
        }
        self.detached.add();
        let out = Out(Arc::clone(self));
        move || out.0.run(child, here)
    }

    fn run(self: &Arc<Self>, id: usize, here: usize) {
        let Node { verb, children } = &self.program.nodes[id];
        let mark = || {
            self.counts[id].fetch_add(1, Ordering::Relaxed);
        };
        if !matches!(verb, Broadcast | ScopeBroadcast) {
            mark();
        }
        assert_eq!(heist::current_num_threads(), self.pools[here].current_num_threads());
        match *verb {
            Leaf(turns) => (0..turns).for_each(|_| std::hint::spin_loop()),
            Sequence => self.run_all(children, here),
            Join => self.halves(children, here, |a, b| {
                heist::join(a, b);
            }),
            JoinContext => self.halves(children, here, |a, b| {
                let home = std::thread::current().id();
                let b = |c: heist::FnContext| {
                    // The reverse does not hold, as in rayon: a half that `yield_local` took off its own stack counts as
                    // migrated.
                    assert!(c.migrated() || std::thread::current().id() == home);
                    b();
                };
                heist::join_context(|_| a(), b);
            }),
            Fork => self.halves(children, here, |a, b| {
                heist::fork(|f| f.join(|f| f.join(|_| a(), |_| ()), |_| b()));
            }),
            Scope => heist::scope(|s| {
                for &child in children {
                    s.spawn(move |_| self.run(child, here));
                }
            }),
            ScopeFifo => heist::scope_fifo(|s| {
                for &child in children {
                    s.spawn_fifo(move |_| self.run(child, here));
                }
            }),
            InPlaceScope => heist::in_place_scope(|s| {
                let (first, rest) = children.split_first().map_or((None, &[][..]), |(f, r)| (Some(f), r));
                for &child in rest {
                    s.spawn(move |s| s.spawn(move |_| self.run(child, here)));
                }
                if let Some(&first) = first {
                    self.run(first, here);
                }
            }),
            Spawn => children.iter().for_each(|&child| heist::spawn(self.detach(child, here))),
            SpawnFifo => children.iter().for_each(|&child| heist::spawn_fifo(self.detach(child, here))),
            Blocking => heist::blocking(|| self.run_all(children, here)),
            BlockingSleep => heist::blocking(|| std::thread::sleep(std::time::Duration::from_micros(50))),
            YieldNow => {
                heist::yield_now();
            }
            YieldLocal => {
                heist::yield_local();
            }
            Broadcast => {
                heist::broadcast(|_| mark());
            }
            ScopeBroadcast => heist::scope(|s| s.spawn_broadcast(|_, _| mark())),
            Install => self.pools[1 - here].install(|| self.run_all(children, 1 - here)),
            CaughtFirst => self.halves(children, here, |a, b| {
                self.catch(id, || {
                    let first = || {
                        a();
                        self.throw(id)
                    };
                    heist::join(first, b);
                });
            }),
            CaughtSecond => self.halves(children, here, |a, b| {
                self.catch(id, || {
                    let second = || {
                        b();
                        self.throw(id)
                    };
                    heist::join(a, second);
                });
            }),
            CaughtSpawn => self.catch(id, || {
                heist::scope(|s| {
                    for &child in children {
                        s.spawn(move |_| self.run(child, here));
                    }
                    s.spawn(|_| self.throw(id));
                });
            }),
        }
    }
}

/// Runs one random program in fresh pools and compares it with its serial meaning.
fn run_program(seed: u64, round: u64) -> usize {
    let mut random = generator(seed, round);
    let size = [1, 10, 100, 1000][random.below(4)];
    let program = Program::random(&mut random, size);
    let sizes = [1, 2, 3, 4, 8];
    let threads = [sizes[random.below(5)], sizes[random.below(5)]];
    let times = 1 + random.below(4);
    let doors: Vec<_> = (0..times).map(|_| random.below(4)).collect();
    let nodes = program.nodes.len();
    let mut expected = program.expected(threads);
    expected.iter_mut().for_each(|count| *count *= times as u32);
    let world = Arc::new(World {
        program,
        pools: threads.map(pool),
        counts: (0..nodes).map(|_| AtomicU32::new(0)).collect(),
        detached: Detached::default(),
        thrown: AtomicUsize::new(0),
    });
    std::thread::scope(|outside| {
        for door in doors {
            let world = &world;
            outside.spawn(move || match door {
                0 => world.pools[0].install(|| world.run(0, 0)),
                1 => world.pools[0].fork(|_| world.run(0, 0)),
                2 => world.pools[0].scope(|s| s.spawn(|_| world.run(0, 0))),
                _ => world.pools[0].spawn(world.detach(0, 0)),
            });
        }
    });
    world.detached.wait();
    let got: Vec<_> = world.counts.iter().map(|count| count.load(Ordering::Relaxed)).collect();
    let wrong: Vec<_> = (0..nodes)
        .filter(|&id| got[id] != expected[id])
        .map(|id| (id, world.program.nodes[id].verb, got[id], expected[id]))
        .collect();
    assert!(
        wrong.is_empty(),
        "seed {seed}, round {round}, pools {threads:?}: (id, verb, runs, wanted) {wrong:?}"
    );
    nodes * times
}

#[test]
fn random_programs_mean_what_they_mean_serially() {
    let _watch = watch!();
    let seed = base_seed("random_programs");
    // With a seed given, one round can be asked for alone.
    if let Ok(round) = std::env::var("HEIST_ROUND") {
        run_program(seed, round.parse().expect("HEIST_ROUND is a number"));
        return;
    }
    let rounds = scaled(200) as u64;
    let mut nodes = 0;
    for round in 0..rounds {
        nodes += run_program(seed, round);
    }
    println!("{nodes} nodes in {rounds} programs");
}

/// The generator uses every verb, or the test above tests less than it says.
#[test]
fn programs_use_every_verb() {
    let mut seen = std::collections::HashSet::new();
    for round in 0..200 {
        for node in &Program::random(&mut generator(7, round), 200).nodes {
            seen.insert(std::mem::discriminant(&node.verb));
        }
    }
    assert_eq!(seen.len(), 20);
}

#[test]
fn in_fenced_mode() {
    let _watch = watch!();
    fenced::rerun_fenced(module_path!(), &["random_programs"]);
}
