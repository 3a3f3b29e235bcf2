//! How the CPUs of a machine belong together: nodes of memory and the distances between them, caches that CPUs share, and CPUs that are one
//! core.
//!
//! Everything is below `/sys/devices/system`, or nothing is known. A pool asks for [`several_nodes`], which is one short file on a machine
//! with one node; the rest is for people who look.

mod read;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};

/// The variable that names another directory than `/`, for tests.
const VARIABLE: &str = "HEIST_TOPOLOGY";

/// A node: memory, and CPUs to which it is near. Nodes without CPUs are not among them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    /// The system's number for it. There may be holes.
    pub number: usize,
    /// Its CPUs that are online, in order; at least one.
    pub cpus: Vec<usize>,
    /// How far it is to each node of the topology, itself included; 10 is its own memory.
    pub distances: Vec<u32>,
}

/// A cache and the CPUs that share it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cache {
    /// 1 is the nearest to a CPU.
    pub level: u32,
    /// Those that are online, in order.
    pub cpus: Vec<usize>,
}

/// A CPU that is online.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cpu {
    /// The system's number for it.
    pub number: usize,
    /// The CPUs that are one core with it, itself included, in order.
    pub siblings: Vec<usize>,
    /// The caches that hold its data, nearest first.
    pub caches: Vec<Cache>,
}

/// See the module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Topology {
    /// By number; at least one.
    pub nodes: Vec<Node>,
    /// By number. Empty if only the nodes were asked for.
    pub cpus: Vec<Cpu>,
    /// For each pair of nodes, how many others are nearer to the first than the second is; equal ones have equal ranks, without holes.
    ranks: Vec<Vec<u8>>,
}

impl Topology {
    /// Everything that can be read below `root`. `None` if no CPUs are known.
    ///
    /// ```
    /// if let Some(topology) = heist_os::topology::Topology::below("/".as_ref()) {
    ///     println!("{} nodes, {} cores", topology.nodes.len(), topology.cores());
    /// }
    /// ```
    pub fn below(root: &Path) -> Option<Self> {
        let mut topology = Self::nodes_below(root)?;
        topology.cpus = read::cpus(root, &topology.nodes);
        Some(topology)
    }

    /// Everything about this machine, or what is in the directory that `HEIST_TOPOLOGY` names.
    ///
    /// ```
    /// let nodes = heist_os::topology::Topology::of_machine().map_or(0, |topology| topology.nodes.len());
    /// println!("{nodes} nodes are known");
    /// ```
    pub fn of_machine() -> Option<Self> {
        Self::below(&root())
    }

    fn nodes_below(root: &Path) -> Option<Self> {
        let nodes = read::nodes(root);
        let ranks = nodes.iter().map(|node| ranks(&node.distances)).collect();
        (!nodes.is_empty()).then_some(Self { nodes, cpus: Vec::new(), ranks })
    }

    /// The place in [`nodes`](Self::nodes) of the node that has `cpu`.
    pub fn node_of(&self, cpu: usize) -> Option<usize> {
        self.nodes.iter().position(|node| node.cpus.binary_search(&cpu).is_ok())
    }

    /// How near the node at `to` is to that at `from`: 0 for itself, then by distance.
    pub fn rank(&self, from: usize, to: usize) -> u8 {
        self.ranks[from][to]
    }

    /// The caches farthest from a CPU, each with the CPUs that share it, in order.
    pub fn last_caches(&self) -> Vec<&Cache> {
        let mut found: Vec<&Cache> = self.cpus.iter().filter_map(|cpu| cpu.caches.last()).collect();
        found.sort_by(|a, b| a.cpus.cmp(&b.cpus));
        found.dedup();
        found
    }

    /// How many cores there are, as far as is known.
    pub fn cores(&self) -> usize {
        self.cpus.iter().filter(|cpu| cpu.siblings.first() == Some(&cpu.number)).count()
    }
}

/// For each distance, how many different ones are less.
fn ranks(distances: &[u32]) -> Vec<u8> {
    let is_first = |at: usize| !distances[..at].contains(&distances[at]);
    let less = |than: u32| (0..distances.len()).filter(|&at| distances[at] < than && is_first(at)).count();
    distances.iter().map(|&distance| u8::try_from(less(distance)).unwrap_or(u8::MAX - 1)).collect()
}

/// A directory that says nothing of any node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadTopology(String);

impl fmt::Display for BadTopology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dir = &self.0;
        write!(
            f,
            "{VARIABLE}={dir:?} has no nodes; name a directory that has sys/devices/system/node, or unset it"
        )
    }
}

impl std::error::Error for BadTopology {}

/// The directory that the variable names.
fn named() -> Option<PathBuf> {
    std::env::var_os(VARIABLE).filter(|dir| !dir.is_empty()).map(PathBuf::from)
}

fn root() -> PathBuf {
    named().unwrap_or_else(|| "/".into())
}

/// Whether `HEIST_TOPOLOGY`, if it is set, names a directory with nodes.
///
/// # Errors
/// If it does not.
///
/// ```
/// heist_os::topology::check_variable()?;
/// # Ok::<(), heist_os::topology::BadTopology>(())
/// ```
pub fn check_variable() -> Result<(), BadTopology> {
    match named() {
        Some(dir) if !read::has_nodes(&dir) => Err(BadTopology(dir.to_string_lossy().into_owned())),
        _ => Ok(()),
    }
}

/// The nodes of this machine if there are several, or those in the directory that `HEIST_TOPOLOGY` names. Without CPUs and caches.
///
/// ```
/// match heist_os::topology::several_nodes() {
///     Some(topology) => assert!(topology.nodes.len() >= 2),
///     None => println!("one node, or nobody knows"),
/// }
/// ```
pub fn several_nodes() -> Option<Topology> {
    let root = root();
    let is_unknown = cfg!(any(miri, not(target_os = "linux")));
    let topology =
        if is_unknown || !read::may_be_several(&root) { None } else { Topology::nodes_below(&root) };
    topology.filter(|topology| topology.nodes.len() > 1)
}
