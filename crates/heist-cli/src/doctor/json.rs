//! For scripts.

use super::facts::{Facts, Presence};
use super::warnings::Warning;
use crate::json::{Text, list, or_null};
use heist_os::cpu_list;
use heist_os::limits::Input;
use heist_os::topology::{Node, Topology};
use std::io::{self, Write};

fn presence(presence: Presence) -> String {
    or_null(match presence {
        Presence::Yes => Some(true),
        Presence::OffBy(_) | Presence::Refused => Some(false),
        Presence::Unknown => None,
    })
}

fn input(input: &Input) -> String {
    let (kind, source, raw) = (Text(input.kind.name()), Text(&input.source), Text(&input.raw));
    let workers = or_null(input.allows.workers());
    format!(r#"{{"kind": {kind}, "source": {source}, "raw": {raw}, "workers": {workers}}}"#)
}

fn machine(topology: &Topology) -> String {
    let node = |node: &Node| {
        let cpus = cpu_list(node.cpus.iter().copied());
        format!(
            r#"{{"number": {}, "cpus": {}, "distances": {:?}}}"#,
            node.number,
            Text(&cpus),
            node.distances
        )
    };
    let nodes: Vec<String> = topology.nodes.iter().map(node).collect();
    format!(
        r#"{{"cpus": {}, "cores": {}, "nodes": [{}]}}"#,
        topology.cpus.len(),
        topology.cores(),
        nodes.join(", ")
    )
}

/// Writes one object.
pub fn write(facts: &Facts, warnings: &[Warning], out: &mut dyn Write) -> io::Result<()> {
    let Facts { decision, membarrier, epoll_pwait2, os_hints, topology, noise } = facts;
    let by = or_null(decision.by.map(|at| input(&decision.inputs[at])));
    writeln!(out, "{{\n  \"workers\": {},\n  \"by\": {by},", decision.workers)?;
    writeln!(out, "  \"inputs\": {},", list(decision.inputs.iter().map(input)))?;
    let calls = [("membarrier", membarrier), ("epoll_pwait2", epoll_pwait2), ("os_hints", os_hints)];
    let calls: Vec<String> = calls.map(|(name, is)| format!("{}: {}", Text(name), presence(*is))).into();
    writeln!(out, "  \"system\": {{{}}},", calls.join(", "))?;
    writeln!(out, "  \"topology\": {},", or_null(topology.as_ref().map(machine)))?;
    let noise = or_null(noise.map(|noise| {
        let (cpu, steal) = (or_null(noise.cpu_share), or_null(noise.steal_share));
        format!(r#"{{"threads": {}, "cpu_share": {cpu}, "steal_share": {steal}}}"#, noise.threads)
    }));
    writeln!(out, "  \"noise\": {noise},")?;
    let warning = |w: &Warning| {
        let (name, message, advice) = (Text(w.name), Text(&w.message), Text(w.advice));
        format!(r#"{{"name": {name}, "message": {message}, "advice": {advice}}}"#)
    };
    writeln!(out, "  \"warnings\": {}\n}}", list(warnings.iter().map(warning)))
}
