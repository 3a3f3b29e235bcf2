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
pub(crate) struct Places {
    system: &'static dyn System,
    topology: Topology,
    /// If threads are kept on their nodes: the CPUs of each node that the pool may use, how many, and how many indices are spread over them.
    pins: Option<Pins>,
}

struct Pins {
    masks: Vec<CpuMask>,
    cpus: Vec<usize>,
    indices: usize,
}

impl Places {
    /// `None` where there is one node, or nobody knows on which CPU a thread runs.
    pub fn new(config: &Config, system: &'static dyn System) -> Option<Box<Self>> {
        system.cpu()?;
        let topology = several_nodes()?;
        let pins = Pins::new(config, system, &topology);
        Some(Box::new(Self { system, topology, pins }))
    }

    /// The node on which the calling thread runs.
    pub fn here(&self) -> Option<u16> {
        self.topology.node_of(self.system.cpu()?).map(|node| node as u16)
    }

    /// How near a thread is to whoever runs on `here`, 0 being the same node. What is not known is the farthest.
    fn rank(&self, here: Option<u16>, worker: Option<&WorkerShared>) -> u8 {
        match (here, worker.and_then(WorkerShared::node)) {
            (Some(here), Some(there)) => self.topology.rank(here.into(), there.into()),
            _ => u8::try_from(self.topology.nodes.len()).unwrap_or(u8::MAX),
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
        let pins = self.pins.as_ref()?;
        let node = policy::node_of_index(index.into(), pins.indices, &pins.cpus);
        Some((node as u16, &pins.masks[node]))
    }
}

impl Pins {
    /// `None` if the program does not ask for it, or the system does not say which CPUs it may use.
    fn new(config: &Config, system: &dyn System, topology: &Topology) -> Option<Self> {
        let own = system.mask(None).filter(|_| config.pin == Pin::Node)?;
        let mask = |cpus: &[usize]| {
            let usable = cpus.iter().copied().filter(|&cpu| own.has(cpu));
            usable.fold(CpuMask::default(), CpuMask::with)
        };
        let masks: Vec<CpuMask> = topology.nodes.iter().map(|node| mask(&node.cpus)).collect();
        let cpus: Vec<usize> = masks.iter().map(CpuMask::count).collect();
        (cpus.iter().sum::<usize>() > 0).then_some(Self { masks, cpus, indices: config.parallelism })
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
        Places { system: &First, pins: Pins::new(&config, &First, &topology), topology }
    }

    #[test]
    fn those_on_the_own_node_come_first() {
        let table = Table::new(&First);
        let nodes = [Some(1), Some(0), None, Some(1), Some(0)];
        for node in nodes {
            table.enrol().expect("there is room").set_node(node);
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
    }
}
