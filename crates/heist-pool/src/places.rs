//! Where the pool's threads run, on a machine whose memory is in several nodes: whom a thief visits first, who is woken, and on which CPUs a
//! thread is kept if the program asks for that. A pool on a machine with one node has none of this.

use crate::pool::Config;
use crate::threads::Table;
use crate::worker::WorkerShared;
use heist_os::topology::{Topology, several_nodes};
use heist_os::{CpuMask, System};
use heist_policy as policy;

/// On which CPUs a pool's threads are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Pin {
    /// They run where the system likes.
    #[default]
    None,
    /// Each on the CPUs of one node, by the index that it has.
    Node,
}

/// See the module.
pub struct Places {
    system: &'static dyn System,
    topology: Topology,
    spread: Spread,
}

/// How the indices are spread over the nodes.
struct Spread {
    /// The CPUs of each node that the pool may use, and how many.
    masks: Vec<CpuMask>,
    cpus: Vec<usize>,
    indices: usize,
    /// Threads are kept there.
    is_kept: bool,
}

impl Places {
    /// `None` where there is one node, or nobody knows on which CPU a thread runs.
    pub fn new(config: &Config, system: &'static dyn System) -> Option<Box<Self>> {
        system.cpu()?;
        let topology = several_nodes()?;
        let spread = Spread::new(config, system, &topology);
        Some(Box::new(Self { system, topology, spread }))
    }

    /// The node on which the calling thread runs.
    pub fn here(&self) -> Option<u16> {
        self.topology.node_of(self.system.cpu()?).map(|node| node as u16)
    }

    /// How near a thread is to whoever runs on `here`, 0 being the same node. What is not known is the farthest.
    fn rank(&self, here: Option<u16>, worker: Option<&WorkerShared>) -> u8 {
        match (here, worker.and_then(WorkerShared::node)) {
            (Some(here), Some(there)) => self.topology.rank(here.into(), there.into()),
            _ => self.nodes(),
        }
    }

    /// The same for all threads of the table; `here` is the calling one's node.
    pub fn ranks(&self, here: Option<u16>, table: &Table, ranks: &mut Vec<u8>) {
        ranks.clear();
        ranks.extend((0..table.len()).map(|n| self.rank(here, table.get(n))));
    }

    /// The same for one thread by its number, as seen by the calling one.
    pub fn rank_from_here<'a>(&'a self, table: &'a Table) -> impl Fn(u16) -> u8 + 'a {
        let here = self.here();
        move |thread| self.rank(here, table.get(thread.into()))
    }

    /// The CPUs on which a thread with `index` is kept, and the node that they are of.
    pub fn pin_of(&self, index: u16) -> Option<(u16, &CpuMask)> {
        let node = self.node_of(index);
        self.spread.is_kept.then(|| (node, &self.spread.masks[usize::from(node)]))
    }

    /// The node to which an index belongs: its threads are kept there if the program asks for that.
    pub fn node_of(&self, index: u16) -> u16 {
        policy::node_of_index(index.into(), self.spread.indices, &self.spread.cpus) as u16
    }

    /// The node with the system's number.
    pub fn node_with(&self, number: usize) -> Option<u16> {
        self.topology.nodes.iter().position(|node| node.number == number).map(|node| node as u16)
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> u8 {
        u8::try_from(self.topology.nodes.len()).unwrap_or(u8::MAX)
    }

    /// How near an index is to a node.
    pub fn rank_of_index(&self, near: u16, index: u16) -> u8 {
        self.rank_of(near, self.node_of(index))
    }

    /// How near the second node is to the first, 0 being the same.
    pub fn rank_of(&self, from: u16, to: u16) -> u8 {
        self.topology.rank(from.into(), to.into())
    }
}

impl Spread {
    /// Over all CPUs if the system does not say which ones the pool may use; then nobody is kept anywhere.
    fn new(config: &Config, system: &dyn System, topology: &Topology) -> Self {
        let of_nodes = |may: &dyn Fn(usize) -> bool| {
            let mask = |cpus: &[usize]| {
                cpus.iter().copied().filter(|&cpu| may(cpu)).fold(CpuMask::default(), CpuMask::with)
            };
            topology.nodes.iter().map(|node| mask(&node.cpus)).collect::<Vec<_>>()
        };
        let own = system.mask(None).map(|own| of_nodes(&|cpu| own.has(cpu)));
        let own = own.filter(|masks| masks.iter().any(|mask| mask.count() > 0));
        let is_kept = own.is_some() && config.pin == Pin::Node;
        let masks = own.unwrap_or_else(|| of_nodes(&|_| true));
        let cpus = masks.iter().map(CpuMask::count).collect();
        Self { masks, cpus, indices: config.parallelism, is_kept }
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;
    use std::path::Path;

    /// A thread on the first CPU, which may use the first four.
    #[derive(Debug)]
    struct First;

    impl System for First {
        fn cpu(&self) -> Option<usize> {
            Some(0)
        }

        fn mask(&self, _: Option<heist_os::ThreadNumber>) -> Option<CpuMask> {
            Some((0..4).fold(CpuMask::default(), CpuMask::with))
        }
    }

    /// The fixture with which the tests of `heist` are run: even and odd CPUs.
    fn places(pin: Pin, parallelism: usize) -> Places {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../heist/tests/fixtures/two_nodes");
        let topology = Topology::below(&root).expect("it is there");
        let config = Config { pin, parallelism, ..Config::default() };
        Places { system: &First, spread: Spread::new(&config, &First, &topology), topology }
    }

    #[test]
    fn those_on_the_own_node_come_first() {
        let table = Table::new(&First);
        let nodes = [Some(1), Some(0), None, Some(1), Some(0)];
        for node in nodes {
            table.enrol().expect("there is room").shared.set_node(node);
        }
        let places = places(Pin::None, 5);
        let mut ranks = vec![9];
        places.ranks(places.here(), &table, &mut ranks);
        assert_eq!(ranks, [1, 0, 2, 1, 0]);
        assert_eq!(policy::victims_by_node(&ranks, 0, 1).collect::<Vec<_>>(), [4, 0, 3, 2]);
        let rank = places.rank_from_here(&table);
        assert_eq!([rank(0), rank(1), rank(2), rank(99)], [1, 0, 2, 2]);
        assert!(places.pin_of(0).is_none());
    }

    #[test]
    fn each_index_has_a_node() {
        let places = places(Pin::Node, 4);
        let cpus: Vec<(u16, Vec<usize>)> = (0..4)
            .filter_map(|index| places.pin_of(index))
            .map(|(node, mask)| (node, mask.cpus().collect()))
            .collect();
        assert_eq!(cpus, [(0, vec![0, 2]), (0, vec![0, 2]), (1, vec![1, 3]), (1, vec![1, 3])]);
        let nodes = |places: Places| [0, 1, 2, 3].map(|index| places.node_of(index));
        assert_eq!(nodes(places), [0, 0, 1, 1]);
        assert_eq!(nodes(self::places(Pin::None, 4)), [0, 0, 1, 1], "also if nobody is kept there");
    }
}
