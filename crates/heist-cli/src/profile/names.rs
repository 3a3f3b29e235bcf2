//! What forked code is called, from the debug information of the program.
//!
//! The code of a fork is an instance of one of heist's functions for the program's closure, and the debug information writes the closure's type
//! into the function's name: `call<heist_fork::join::Plain<program::sort::{closure_env#1}>, ()>`.

use gimli::{AttributeValue, DebuggingInformationEntry, Dwarf, EndianSlice, RunTimeEndian, Unit};
use heist::profile::Site;
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol};
use std::borrow::Cow;
use std::collections::HashMap;

/// The names of functions by their addresses, for each file that was asked for.
#[derive(Default)]
pub struct Names {
    files: HashMap<String, HashMap<u64, String>>,
}

impl Names {
    /// What the program calls the site.
    pub fn of(&mut self, site: &Site) -> Option<String> {
        let file = site.file.as_ref()?;
        let names = self.files.entry(file.clone()).or_insert_with(|| read(file).unwrap_or_default());
        names.get(&site.code).map(|name| told(name))
    }
}

type Bytes<'a> = EndianSlice<'a, RunTimeEndian>;

/// All functions of a file, by how far they are from its first loaded byte. Symbols tell what the debug information does not,
/// such as where it is compressed.
fn read(file: &str) -> Option<HashMap<u64, String>> {
    let bytes = std::fs::read(file).ok()?;
    let object = object::File::parse(&*bytes).ok()?;
    let base = object.segments().map(|segment| segment.address()).min()?;
    let mut names = HashMap::new();
    for symbol in object.symbols().filter(|symbol| symbol.is_definition()) {
        if let Ok(name) = symbol.name() {
            names
                .insert(symbol.address().wrapping_sub(base), format!("{:#}", rustc_demangle::demangle(name)));
        }
    }
    let endian = if object.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
    let section = |id: gimli::SectionId| -> Result<Cow<'_, [u8]>, gimli::Error> {
        let data = object.section_by_name(id.name()).and_then(|section| section.uncompressed_data().ok());
        Ok(data.unwrap_or_default())
    };
    let sections = gimli::DwarfSections::load(section).ok()?;
    let dwarf = sections.borrow(|section| EndianSlice::new(section, endian));
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        let Ok(unit) = dwarf.unit(header) else { continue };
        let mut entries = unit.entries();
        while let Ok(Some((_, entry))) = entries.next_dfs() {
            if entry.tag() == gimli::DW_TAG_subprogram
                && let Ok(Some(AttributeValue::Addr(address))) = entry.attr_value(gimli::DW_AT_low_pc)
                && let Some(name) = name(&dwarf, &unit, entry)
            {
                names.insert(address.wrapping_sub(base), name);
            }
        }
    }
    Some(names)
}

/// The name of a function, which may be where it is declared.
fn name(
    dwarf: &Dwarf<Bytes<'_>>,
    unit: &Unit<Bytes<'_>>,
    entry: &DebuggingInformationEntry<Bytes<'_>>,
) -> Option<String> {
    if let Ok(Some(value)) = entry.attr_value(gimli::DW_AT_name) {
        let text = dwarf.attr_string(unit, value).ok()?;
        return Some(text.to_string_lossy().into_owned());
    }
    for link in [gimli::DW_AT_specification, gimli::DW_AT_abstract_origin] {
        if let Ok(Some(AttributeValue::UnitRef(offset))) = entry.attr_value(link)
            && let Ok(declared) = unit.entry(offset)
            && let Some(name) = name(dwarf, unit, &declared)
        {
            return Some(name);
        }
    }
    None
}

/// The closure in the name of heist's function.
fn told(name: &str) -> String {
    let closure = ["join::Plain<", "join::Told<", "fork::Carried<"]
        .iter()
        .find_map(|wrapper| Some(inside(name.split_once(wrapper)?.1)));
    match closure {
        Some(closure) => readable(closure),
        None => looped(name).unwrap_or_else(|| name.into()),
    }
}

/// The loop or sort whose parts are run by this function of heist's. What it is made of is in the name; what of that is the program's own
/// tells where it is.
fn looped(name: &str) -> Option<String> {
    // Without debug information there are no types in the name.
    if !name.contains("heist_iter::") && !name.contains("heist_fork::compact::") {
        return None;
    }
    let is_own = |path: &&str| {
        !["heist", "core::", "alloc::", "std::"].iter().any(|library| path.starts_with(library))
    };
    // The closures in it, each with the path that it ends.
    let ends = name.match_indices("::{closure_env#").map(|(end, _)| end);
    let paths = ends.map(|end| {
        let start = name[..end].rfind(['<', ' ', ',', '(', '&', '*']).map_or(0, |before| before + 1);
        inside(&name[start..])
    });
    let kind = if name.contains("::sort") { "sort" } else { "loop" };
    let place = paths.filter(is_own).map(|path| readable(path.split(',').next().unwrap_or(path))).last();
    Some(place.map_or_else(|| format!("a {kind}"), |place| format!("a {kind} with {place}")))
}

/// Up to the bracket that closes what is open.
fn inside(text: &str) -> &str {
    let mut depth = 0_i32;
    let end = text.find(|c| {
        depth += i32::from(c == '<') - i32::from(c == '>');
        depth < 0
    });
    &text[..end.unwrap_or(text.len())]
}

/// `program::sort::{closure_env#1}<u8>` is the second closure of `program::sort`.
fn readable(closure: &str) -> String {
    let Some((function, rest)) = closure.rsplit_once("::{closure_env#") else { return closure.into() };
    match rest.split('}').next().and_then(|number| number.parse::<u32>().ok()) {
        Some(number) => format!("{function}, closure {}", number + 1),
        None => closure.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closure_is_found_in_the_name() {
        let in_join =
            "call<heist_fork::join::Plain<program::sort::{closure_env#1}<u8>>, (alloc::vec::Vec<u8>, ())>";
        assert_eq!(told(in_join), "program::sort, closure 2");
        let in_fork = "call<heist_fork::fork::Carried<program::fib::{closure_env#0}>, u64>";
        assert_eq!(told(in_fork), "program::fib, closure 1");
        let of_loop = "run<heist_iter::iter::plumbing::drive::{closure_env#1}<heist_iter::iter::for_each::ForEach<\
                       program::main::{closure_env#2}>>, ()>";
        assert_eq!(told(of_loop), "a loop with program::main, closure 3");
        assert_eq!(told("run<heist_iter::slice::sort::merge::{closure_env#0}<u32>, ()>"), "a sort");
        assert_eq!(told("<heist_fork::compact::Call<F,R> as heist_fork::compact::Callee>::run"), "a loop");
        assert_eq!(told("heist_fork::join::Frame<B,RB>::call"), "heist_fork::join::Frame<B,RB>::call");
        assert_eq!(told("call<heist_fork::join::Plain<fn()>, ()>"), "fn()");
    }
}
