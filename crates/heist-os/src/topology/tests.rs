//! Made-up machines.

use super::*;
use crate::tree::Tree;

/// Nodes with their CPUs and lines of distances; CPUs are online as `online` says.
fn machine(online: &str, nodes: &[(usize, &str, &str)]) -> Tree {
    let tree = Tree::new(&[("sys/devices/system/cpu/online", online)]);
    let numbers = crate::cpu_list(nodes.iter().map(|(number, ..)| *number));
    tree.write("sys/devices/system/node/online", &numbers);
    for (number, cpus, distances) in nodes {
        let dir = format!("sys/devices/system/node/node{number}");
        tree.write(&format!("{dir}/cpulist"), &format!("{cpus}\n"));
        tree.write(&format!("{dir}/distance"), &format!("{distances}\n"));
    }
    tree
}

fn read(tree: &Tree) -> Topology {
    Topology::below(tree.path()).expect("there are CPUs")
}

/// The CPUs and distances of each node.
fn shape(topology: &Topology) -> Vec<(usize, String, Vec<u32>)> {
    let nodes = topology.nodes.iter();
    nodes.map(|node| (node.number, crate::cpu_list(node.cpus.clone()), node.distances.clone())).collect()
}

/// In which order a thief on the node at `from` visits workers, one on each node.
fn order(topology: &Topology, from: usize, start: usize) -> Vec<usize> {
    let n = topology.nodes.len();
    let ranks: Vec<u8> = (0..n).map(|to| topology.rank(from, to)).collect();
    heist_policy::victims_by_node(&ranks, start, n).collect()
}

#[test]
fn two_sockets() {
    let topology = read(&machine("0-7", &[(0, "0-3", "10 21"), (1, "4-7", "21 10")]));
    assert_eq!(shape(&topology), [(0, "0-3".into(), vec![10, 21]), (1, "4-7".into(), vec![21, 10])]);
    assert_eq!([0, 3, 4, 7, 8].map(|cpu| topology.node_of(cpu)), [Some(0), Some(0), Some(1), Some(1), None]);
    assert_eq!(order(&topology, 0, 7), [0, 1]);
    assert_eq!(order(&topology, 1, 7), [1, 0]);
}

/// Two sockets of two nodes each: the neighbour in the socket is nearer.
#[test]
fn four_nodes_with_unequal_distances() {
    let topology = read(&machine(
        "0-15",
        &[
            (0, "0-3", "10 12 20 22"),
            (1, "4-7", "12 10 22 20"),
            (2, "8-11", "20 22 10 12"),
            (3, "12-15", "22 20 12 10"),
        ],
    ));
    assert_eq!(order(&topology, 0, 0), [0, 1, 2, 3]);
    assert_eq!(order(&topology, 1, 5), [1, 0, 3, 2]);
    assert_eq!(order(&topology, 2, 1), [2, 3, 0, 1]);
    assert_eq!(order(&topology, 3, 2), [3, 2, 1, 0]);
}

/// Equally far nodes take turns at being first.
#[test]
fn four_nodes_in_a_ring() {
    let ring =
        [(0, "0", "10 20 30 20"), (1, "1", "20 10 20 30"), (2, "2", "30 20 10 20"), (3, "3", "20 30 20 10")];
    let topology = read(&machine("0-3", &ring));
    let orders: Vec<_> = (0..2).map(|start| order(&topology, 0, start)).collect();
    assert_eq!(orders, [[0, 1, 3, 2], [0, 3, 1, 2]]);
}

#[test]
fn holes_in_the_numbers() {
    let topology = read(&machine("0-3", &[(0, "0-1", "10 40"), (8, "2-3", "40 10")]));
    assert_eq!(shape(&topology), [(0, "0-1".into(), vec![10, 40]), (8, "2-3".into(), vec![40, 10])]);
    assert_eq!(topology.node_of(2), Some(1));
}

/// They have a column in everybody's distances, and no CPU that could run a thread.
#[test]
fn nodes_that_are_only_memory() {
    let topology = read(&machine(
        "0-3",
        &[
            (0, "0-1", "10 17 28 21"),
            (1, "", "17 10 28 28"),
            (2, "", "28 28 10 17"),
            (3, "2-3", "21 28 17 10"),
        ],
    ));
    assert_eq!(shape(&topology), [(0, "0-1".into(), vec![10, 21]), (3, "2-3".into(), vec![21, 10])]);
    assert_eq!(order(&topology, 1, 0), [1, 0]);
}

#[test]
fn cpus_that_are_offline() {
    let topology = read(&machine("0-2,5", &[(0, "0-3", "10 20"), (1, "4-7", "20 10")]));
    assert_eq!(shape(&topology), [(0, "0-2".into(), vec![10, 20]), (1, "5".into(), vec![20, 10])]);
    assert_eq!(topology.node_of(3), None);
    // All of a node's.
    let topology = read(&machine("0-3", &[(0, "0-3", "10 20"), (1, "4-7", "20 10")]));
    assert_eq!(shape(&topology), [(0, "0-3".into(), vec![10])]);
}

#[test]
fn distances_that_make_no_sense() {
    let far = |tree: &Tree| read(tree).nodes.iter().map(|node| node.distances.clone()).collect::<Vec<_>>();
    for bad in ["", "10", "10 20 30", "x y", "10 -1", "10 99999999999"] {
        let tree = machine("0-1", &[(0, "0", bad), (1, "1", "21 10")]);
        assert_eq!(far(&tree), [[10, 20], [21, 10]], "{bad:?}");
    }
    // A firmware that says that all nodes are as near as the own one, or nearer.
    let tree = machine("0-1", &[(0, "0", "10 10"), (1, "1", "0 0")]);
    assert_eq!(far(&tree), [[9, 10], [0, 0]]);
    let topology = read(&tree);
    assert_eq!(order(&topology, 0, 1), [0, 1]);
}

#[test]
fn without_nodes_there_is_one() {
    let tree = Tree::new(&[("sys/devices/system/cpu/online", "0-3\n")]);
    assert_eq!(shape(&read(&tree)), [(0, "0-3".into(), vec![10])]);
    assert!(!read::has_nodes(tree.path()));
    assert_eq!(Topology::below(Tree::new(&[]).path()), None);
    // Directories without a list of them.
    let tree = machine("0-1", &[(0, "0", "10 20"), (3, "1", "20 10")]);
    std::fs::remove_file(tree.path().join("sys/devices/system/node/online")).unwrap();
    assert_eq!(shape(&read(&tree)).len(), 2);
    assert!(read::may_be_several(tree.path()));
    assert!(!read::may_be_several(machine("0", &[(0, "0", "10")]).path()));
}

/// Two cores of two CPUs each, numbered as many machines do, which share the last cache.
#[test]
fn siblings_and_caches() {
    let tree = machine("0-3", &[(0, "0-3", "10")]);
    for cpu in 0..4 {
        let dir = format!("sys/devices/system/cpu/cpu{cpu}");
        let core = format!("{},{}", cpu % 2, cpu % 2 + 2);
        let name = if cpu == 0 { "thread_siblings_list" } else { "core_cpus_list" };
        tree.write(&format!("{dir}/topology/{name}"), &core);
        for (index, level, kind, cpus) in [
            (0, "1", "Data", &*core),
            (1, "1", "Instruction", &core),
            (2, "2", "Unified", &core),
            (3, "3", "Unified", "0-7"),
        ] {
            let dir = format!("{dir}/cache/index{index}");
            tree.write(&format!("{dir}/level"), level);
            tree.write(&format!("{dir}/type"), kind);
            tree.write(&format!("{dir}/shared_cpu_list"), cpus);
        }
    }
    let topology = read(&tree);
    assert_eq!(topology.cores(), 2);
    let cpu = &topology.cpus[3];
    assert_eq!((cpu.number, &*cpu.siblings), (3, &[1, 3][..]));
    let caches: Vec<_> = cpu.caches.iter().map(|cache| (cache.level, cache.cpus.clone())).collect();
    assert_eq!(caches, [(1, vec![1, 3]), (2, vec![1, 3]), (3, vec![0, 1, 2, 3])]);
    assert_eq!(topology.last_caches(), [&Cache { level: 3, cpus: vec![0, 1, 2, 3] }]);
    // The sibling is switched off.
    tree.write("sys/devices/system/cpu/online", "0-1,3");
    let topology = read(&tree);
    assert_eq!(topology.cpus.iter().map(|cpu| cpu.number).collect::<Vec<_>>(), [0, 1, 3]);
    assert_eq!(topology.cpus[0].siblings, [0]);
    assert_eq!(topology.cores(), 2);
}

/// What is not there is not invented.
#[test]
fn cpus_of_which_nothing_is_known() {
    let topology = read(&machine("0-1", &[(0, "0-1", "10")]));
    assert_eq!(topology.cpus, [0, 1].map(|number| Cpu { number, siblings: vec![number], caches: vec![] }));
}

#[test]
fn this_machine() {
    let Some(topology) = Topology::below(Path::new("/")) else { return println!("skipped: no sysfs") };
    println!("{topology:?}");
    assert!(topology.cores() >= 1 && topology.cores() <= topology.cpus.len());
}
