#!/usr/bin/env python3
"""What it costs to build a program on heist, in terms of rayon.

Use: bench/compile/run.py [--rounds N] [--work FOLDER] [--strict]

Builds the program of chains.py against rayon 1.12 and against heist, in alternation, with cargo's own dev and release
profiles: CPU time (user and system) of rustc for that one crate, linker included; size of the program; lines of LLVM IR,
where `cargo llvm-lines` is installed. Then either library alone, from nothing: CPU time of the whole build, and number of
crates. heist is built without its default features, because rayon has no tasks; its tasks and sockets are reported as well.
"""

import argparse
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import chains

HERE = Path(__file__).resolve().parent
BENCH = HERE.parent
HEIST = BENCH.parent / "crates" / "heist"
# Of rayon's figure, for every row.
MAX = 1.0
PROFILES = ("dev", "release")
LIBRARIES = {
    "rayon": 'package = "rayon", version = "=1.12.0"',
    "heist": f'package = "heist", path = "{HEIST}", default-features = false',
}
# Everything that heist has, for reading.
WITH_ALL = "heist with its default features"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="builds of each kind; the median counts")
    parser.add_argument("--work", type=Path, help="where to build; a folder of its own below bench/target by default")
    parser.add_argument("--strict", action="store_true", help="exit with code 1 if a bar is missed")
    args = parser.parse_args()
    if args.rounds < 1:
        parser.error("at least one round")
    work = (args.work or BENCH / "target" / "compile").resolve()
    table = []
    programs = {name: Program(work / f"chains-{name}", name, LIBRARIES[name]) for name in LIBRARIES}
    measure_programs(programs, args.rounds, table)
    libraries = {name: Library(work / f"alone-{name}", spec) for name, spec in LIBRARIES.items()}
    spec = LIBRARIES["heist"].replace(", default-features = false", "")
    libraries[WITH_ALL] = Library(work / "alone-heist-default", spec)
    measure_libraries(libraries, args.rounds, table)
    missed = show(table)
    return 1 if missed and args.strict else 0


class Crate:
    """A crate in a workspace of its own, with build output of its own."""

    def __init__(self, folder, dependency, source):
        self.folder, self.target = folder, folder / "target"
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "src").mkdir(parents=True)
        # Every crate has cargo's defaults: no profile says otherwise.
        (folder / "Cargo.toml").write_text(
            '[package]\nname = "chains"\nversion = "0.0.0"\nedition = "2024"\n'
            f"[dependencies]\nlib = {{ {dependency} }}\n[workspace]\n"
        )
        # The versions that the other benchmarks use.
        shutil.copy(BENCH / "Cargo.lock", folder)
        self.source = folder / "src" / "main.rs"
        self.source.write_text(source)
        self.log = folder / "rustc.log"

    def cargo(self, *words, **options):
        environment = {key: value for key, value in os.environ.items() if not key.startswith("CARGO_PROFILE")}
        environment.pop("RUSTFLAGS", None)
        # Each round builds the crate from nothing, so what is kept for the next build would only cost.
        environment |= {"CARGO_TARGET_DIR": str(self.target), "CARGO_INCREMENTAL": "0"}
        environment |= {"RUSTC_WRAPPER": str(HERE / "rustc_time.py"), "RUSTC_TIME_LOG": str(self.log)}
        done = subprocess.run(
            ["cargo", *words], cwd=self.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, check=False, **options,
        )
        if done.returncode != 0:
            sys.exit(f"cargo {' '.join(words)} failed in {self.folder}:\n{done.stderr}")
        return done.stdout

    def build(self, profile):
        self.cargo("build", "--quiet", "--profile", profile)

    def names_of_dependencies(self):
        lines = self.cargo("tree", "-e", "normal", "--prefix", "none").splitlines()[1:]
        return {line.split()[0] for line in lines if line}


class Program(Crate):
    """The chains on one library."""

    def __init__(self, folder, name, dependency):
        super().__init__(folder, dependency, chains.program())
        self.name = name
        self.cpu = {profile: [] for profile in PROFILES}

    def prepare(self, profile):
        """Builds everything once, so that from now on only the program itself is built."""
        self.build(profile)

    def measure(self, profile):
        self.log.write_text("")
        os.utime(self.source)
        self.build(profile)
        times = dict(line.rsplit(" ", 1) for line in self.log.read_text().splitlines())
        if set(times) != {"chains"}:
            sys.exit(f"more than the program was built: {sorted(times)}")
        self.cpu[profile].append(float(times["chains"]))

    def binary(self, profile):
        return self.target / ("debug" if profile == "dev" else profile) / "chains"

    def lines_of_ir(self, profile):
        """What LLVM gets from rustc; None without `cargo llvm-lines`."""
        if not shutil.which("cargo-llvm-lines"):
            return None
        text = self.cargo("llvm-lines", "--bin", "chains", "--profile", profile)
        return int(re.search(r"^\s*(\d+)\s.*\(TOTAL\)", text, re.MULTILINE).group(1))


class Library(Crate):
    """One library and nothing else."""

    def __init__(self, folder, dependency):
        super().__init__(folder, dependency, "fn main() {}\n")
        self.cpu = {profile: [] for profile in PROFILES}
        self.crates = self.names_of_dependencies()

    def measure(self, profile):
        shutil.rmtree(self.target, ignore_errors=True)
        before = children()
        self.build(profile)
        self.cpu[profile].append(children() - before)


def children():
    """CPU time of all processes that were started and waited for, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure_programs(programs, rounds, table):
    for profile in PROFILES:
        for program in programs.values():
            say(f"{program.name}, {profile}: dependencies")
            program.prepare(profile)
        for number in range(rounds):
            # Who goes first alternates.
            for program in list(programs.values())[:: 1 if number % 2 == 0 else -1]:
                say(f"{program.name}, {profile}: round {number + 1} of {rounds}")
                program.measure(profile)
        printed = {name: subprocess.check_output([program.binary(profile)]) for name, program in programs.items()}
        if len(set(printed.values())) != 1:
            sys.exit(f"the programs compute different things: {printed}")
        cpu = {name: statistics.median(program.cpu[profile]) for name, program in programs.items()}
        table.append((f"{len(chains.chains())} chains, {profile}: CPU time of rustc", "s", cpu, True))
        size = {name: program.binary(profile).stat().st_size / 1e6 for name, program in programs.items()}
        table.append((f"{len(chains.chains())} chains, {profile}: size of the program", "MB", size, True))
        say(f"{profile}: lines of IR")
        lines = {name: program.lines_of_ir(profile) for name, program in programs.items()}
        if None not in lines.values():
            lines = {name: count / 1e3 for name, count in lines.items()}
            table.append((f"{len(chains.chains())} chains, {profile}: lines of IR", "thousand", lines, True))
    if not shutil.which("cargo-llvm-lines"):
        say("no `cargo llvm-lines`: no lines of IR")


def measure_libraries(libraries, rounds, table):
    for profile in PROFILES:
        for number in range(rounds):
            for name, library in list(libraries.items())[:: 1 if number % 2 == 0 else -1]:
                say(f"{name} from nothing, {profile}: round {number + 1} of {rounds}")
                library.measure(profile)
        cpu = {name: statistics.median(library.cpu[profile]) for name, library in libraries.items()}
        table.append((f"the library from nothing, {profile}: CPU time of the build", "s", cpu, True))
    everyone = {name: len(library.crates) for name, library in libraries.items()}
    table.append(("the library: crates", "", everyone, False))
    others = {name: sum(not is_own(crate) for crate in library.crates) for name, library in libraries.items()}
    table.append(("the library: crates of others", "", others, True))


def is_own(crate):
    return crate.startswith("heist") or crate in ("rayon", "rayon-core")


def show(table):
    """Prints all rows; returns how many bars were missed."""
    missed = 0
    width = max(len(title) + len(unit) for title, unit, *_ in table) + 2
    print(f"\n{'':{width}}  {'rayon':>9}  {'heist':>9}  heist / rayon")
    for title, unit, figures, is_judged in table:
        rayon, heist = figures["rayon"], figures["heist"]
        ratio = heist / rayon
        verdict = ""
        if is_judged:
            is_met = ratio <= MAX
            missed += not is_met
            verdict = f" [<= {MAX:.1f}] {'ok' if is_met else 'MISSED'}"
        if WITH_ALL in figures:
            verdict += f"  ({WITH_ALL}: {short(figures[WITH_ALL])})"
        name = f"{title}, {unit}" if unit else title
        print(f"{name:{width}}  {short(rayon):>9}  {short(heist):>9}  {ratio:.3f}{verdict}")
    print(f"{missed} bars missed" if missed else "all bars met")
    return missed


def short(figure):
    return str(figure) if isinstance(figure, int) else f"{figure:.2f}"


def say(text):
    print(text, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
