//! For people.

use super::facts::{Facts, Presence};
use super::warnings::Warning;
use heist_os::cpu_list;
use heist_os::limits::{Allows, Kind};
use heist_os::topology::Node;
use std::io::{self, Write};

/// What a terminal understands, or nothing.
struct Paint {
    bold: &'static str,
    good: &'static str,
    bad: &'static str,
    plain: &'static str,
}

const COLOURS: Paint = Paint { bold: "\x1b[1m", good: "\x1b[32m", bad: "\x1b[33m", plain: "\x1b[0m" };
const NONE: Paint = Paint { bold: "", good: "", bad: "", plain: "" };

/// Writes all that is known.
pub fn write(facts: &Facts, warnings: &[Warning], has_colours: bool, out: &mut dyn Write) -> io::Result<()> {
    let Paint { bold, good, bad, plain } = if has_colours { COLOURS } else { NONE };
    let decision = &facts.decision;
    let s = if decision.workers == 1 { "" } else { "s" };
    write!(out, "{bold}A pool would have {} worker{s} here{plain}", decision.workers)?;
    match decision.by.map(|at| &decision.inputs[at]) {
        Some(by) => writeln!(out, ": {} is {}\n", by.source, by.raw)?,
        None => writeln!(out, ": nothing is known about this machine\n")?,
    }
    for (at, input) in decision.inputs.iter().enumerate() {
        let allows = match input.allows {
            Allows::Everything => "no limit".into(),
            Allows::Unknown if input.kind == Kind::Variable => "ignored".into(),
            Allows::Unknown => "not understood".into(),
            Allows::Workers(_) | Allows::Cpu { .. } => input.allows.workers().unwrap_or(0).to_string(),
        };
        let (mark, end) = if decision.by == Some(at) { (bold, plain) } else { ("", "") };
        writeln!(
            out,
            "  {mark}{:<9} {:<14} {} = {}{end}",
            input.kind.name(),
            allows,
            input.source,
            input.raw
        )?;
    }
    writeln!(out)?;
    let calls = [
        ("membarrier", facts.membarrier, "forks without fences"),
        ("epoll_pwait2", facts.epoll_pwait2, "timers by the nanosecond"),
        ("os hints", facts.os_hints, "CPU clocks and placing of threads"),
    ];
    for (name, presence, what) in calls {
        let is = match presence {
            Presence::Yes => "yes".into(),
            Presence::OffBy(variable) => format!("off by {variable}"),
            Presence::Refused => "refused".into(),
            Presence::Unknown => "unknown here".into(),
        };
        writeln!(out, "  {name:<12} {is} ({what})")?;
    }
    if let Some(topology) = &facts.topology {
        let (cpus, cores, caches) = (topology.cpus.len(), topology.cores(), topology.last_caches().len());
        writeln!(
            out,
            "  {:<12} {} in {}, {} of the last level",
            "machine",
            counted(cpus, "CPU"),
            counted(cores, "core"),
            counted(caches, "shared cache")
        )?;
        for Node { number, cpus, distances } in &topology.nodes {
            let cpus = cpu_list(cpus.iter().copied());
            writeln!(out, "  {:<12} CPUs {cpus}, distances {distances:?}", format!("node {number}"))?;
        }
    }
    if let Some(noise) = facts.noise {
        let percent =
            |share: Option<f64>| share.map_or("unknown".into(), |share| format!("{:.1} %", share * 100.0));
        let (cpu, steal) = (percent(noise.cpu_share), percent(noise.steal_share));
        writeln!(
            out,
            "  {:<12} {} computed for a second, the unluckiest for {cpu} of it; stolen by the host: {steal}",
            "threads", noise.threads
        )?;
    }
    writeln!(out)?;
    for warning in warnings {
        writeln!(out, "{bad}warning{plain}: {} [{}]\n  {}", warning.message, warning.name, warning.advice)?;
    }
    if warnings.is_empty() {
        writeln!(out, "{good}Nothing is wrong.{plain}")?;
    }
    Ok(())
}
/// So many of them.
fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
