//! The files. What is missing is made up so that it does no harm: one node, distances that are all the same, no shared caches.

use super::{Cache, Cpu, Node};
use crate::{file, parse_cpu_list};
use std::path::{Path, PathBuf};

/// What a node is from its own memory, and what it is from others if nobody says.
const NEAR: u32 = 10;
const FAR: u32 = 20;

fn system(root: &Path, path: &str) -> PathBuf {
    root.join("sys/devices/system").join(path)
}

fn text(root: &Path, path: &str) -> Option<String> {
    file::read_text(&system(root, path))
}

fn list(root: &Path, path: &str) -> Option<Vec<usize>> {
    parse_cpu_list(&text(root, path)?)
}

/// The numbers of the nodes: those that are online, or else those that have a directory.
fn node_numbers(root: &Path) -> Vec<usize> {
    let named = || {
        let entries = std::fs::read_dir(system(root, "node")).ok()?;
        let number = |name: &str| name.strip_prefix("node")?.parse().ok();
        let mut found: Vec<usize> =
            entries.filter_map(|entry| number(entry.ok()?.file_name().to_str()?)).collect();
        found.sort_unstable();
        Some(found)
    };
    list(root, "node/online").filter(|online| !online.is_empty()).or_else(named).unwrap_or_default()
}

/// Whether it is worth reading more. One short file, on most machines.
pub(super) fn may_be_several(root: &Path) -> bool {
    list(root, "node/online").is_none_or(|online| online.len() > 1)
}

pub(super) fn has_nodes(root: &Path) -> bool {
    !node_numbers(root).is_empty()
}

/// The nodes that have CPUs.
pub(super) fn nodes(root: &Path) -> Vec<Node> {
    let online = list(root, "cpu/online");
    let is_online = |cpu: &usize| online.as_ref().is_none_or(|online| online.binary_search(cpu).is_ok());
    let numbers = node_numbers(root);
    let mut found: Vec<(usize, Node)> = Vec::new();
    for (at, &number) in numbers.iter().enumerate() {
        let cpus = list(root, &format!("node/node{number}/cpulist")).unwrap_or_default();
        let cpus: Vec<usize> = cpus.into_iter().filter(is_online).collect();
        // A column for each node that is online, also for those that are only memory.
        let distances = text(root, &format!("node/node{number}/distance"))
            .and_then(|text| {
                text.split_whitespace().map(|word| word.parse().ok()).collect::<Option<Vec<u32>>>()
            })
            .filter(|distances| distances.len() == numbers.len())
            .unwrap_or_else(|| (0..numbers.len()).map(|to| if to == at { NEAR } else { FAR }).collect());
        if !cpus.is_empty() {
            found.push((at, Node { number, cpus, distances }));
        }
    }
    let columns: Vec<usize> = found.iter().map(|(at, _)| *at).collect();
    let mut nodes: Vec<Node> = found.into_iter().map(|(_, node)| node).collect();
    for (own, node) in nodes.iter_mut().enumerate() {
        node.distances = columns.iter().map(|&column| node.distances[column]).collect();
        // Nothing is nearer to a node than itself, whatever a firmware says.
        let others = node.distances.iter().enumerate().filter(|(at, _)| *at != own);
        let nearest = others.map(|(_, distance)| *distance).min().unwrap_or(u32::MAX);
        node.distances[own] = node.distances[own].min(nearest.saturating_sub(1));
    }
    if nodes.is_empty() {
        let cpus = online.unwrap_or_default();
        nodes.extend((!cpus.is_empty()).then(|| Node { number: 0, cpus, distances: vec![NEAR] }));
    }
    nodes
}

/// The CPUs of these nodes.
pub(super) fn cpus(root: &Path, nodes: &[Node]) -> Vec<Cpu> {
    let mut numbers: Vec<usize> = nodes.iter().flat_map(|node| node.cpus.iter().copied()).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let online = |mut cpus: Vec<usize>| {
        cpus.retain(|cpu| numbers.binary_search(cpu).is_ok());
        cpus
    };
    let cpu = |&number: &usize| {
        let dir = format!("cpu/cpu{number}");
        // The second is the older name.
        let siblings = ["core_cpus_list", "thread_siblings_list"]
            .iter()
            .find_map(|name| list(root, &format!("{dir}/topology/{name}")))
            .map(online)
            .filter(|siblings| siblings.contains(&number))
            .unwrap_or_else(|| vec![number]);
        let mut caches: Vec<Cache> = (0..)
            .map_while(|index| {
                let dir = format!("{dir}/cache/index{index}");
                let level = text(root, &format!("{dir}/level"))?.trim().parse().ok()?;
                let holds_data =
                    text(root, &format!("{dir}/type")).is_none_or(|kind| kind.trim() != "Instruction");
                let cpus = list(root, &format!("{dir}/shared_cpu_list")).map_or_else(|| vec![number], online);
                Some(holds_data.then_some(Cache { level, cpus }))
            })
            .flatten()
            .collect();
        caches.sort_by_key(|cache| cache.level);
        Cpu { number, siblings, caches }
    };
    numbers.iter().map(cpu).collect()
}
