#!/usr/bin/env bash
# Published programs that use rayon: built as they are, with compat/rayon-core patched, and with compat/rayon patched. They get the same
# input, must print and write the same, and are timed in alternation. Not part of CI: the first run builds for a quarter of an hour.
#
#     bash check/real-programs.sh [ROUNDS] [PROGRAM...]       default: 15 rounds of all; with KEEP=1, of what an earlier call has built
#
# The sources come through cargo, in the versions below; nothing of them is kept in this repository.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD work=$PWD/target/real-programs
rounds=${1:-15}
shift || true
programs=("$@")
if [ ${#programs[@]} = 0 ]; then programs=(oxipng tokei dust fclones gifski); fi
rayon=1.12.0 rayon_core=1.13.0
mkdir -p "$work/bin" "$work/fetch/src"
# One directory for all variants: what does not depend on rayon is built once.
export CARGO_TARGET_DIR=$work/target CARGO_PROFILE_RELEASE_DEBUG=0 CARGO_INCREMENTAL=0

# package_of PROGRAM: its crate and version, and what cargo needs to know.
package_of() {
    case $1 in
    oxipng) echo "oxipng 10.2.1" ;;
    tokei) echo "tokei 15.0.0" ;;
    dust) echo "du-dust 1.2.7" ;;
    fclones) echo "fclones 0.35.0" ;;
    gifski) echo "gifski 1.34.0" ;;
    *) echo "real-programs.sh does not know $1" >&2 && return 1 ;;
    esac
}

# patch_of VARIANT: what is added to the program's manifest.
patch_of() {
    case $1 in
    published) ;;
    core) printf '\n[patch.crates-io]\nrayon-core = { path = "%s" }\n' "$root/compat/rayon-core" ;;
    rayon) printf '\n[patch.crates-io]\nrayon = { path = "%s" }\nrayon-core = { path = "%s" }\n' "$root/compat/rayon" "$root/compat/rayon-core" ;;
    esac
}

# Cargo unpacks a crate if something depends on it. So one does, and is never built. Crates without a library are unpacked, too, but not
# listed: they lie beside the others.
sources() {
    {
        printf '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n[dependencies]\nrayon = "=%s"\n' "$rayon"
        for program in "${programs[@]}"; do
            read -r name version <<<"$(package_of "$program")"
            printf '%s = "=%s"\n' "$name" "$version"
        done
    } >"$work/fetch/Cargo.toml"
    : >"$work/fetch/src/lib.rs"
    cargo metadata --quiet --format-version 1 --manifest-path "$work/fetch/Cargo.toml" | python3 -c '
import json, os, sys
folders = {os.path.dirname(os.path.dirname(p["manifest_path"])) for p in json.load(sys.stdin)["packages"] if p["source"]}
print(folders.pop())' >"$work/sources"
}

build() {
    local program=$1 variant=$2 name version source place
    read -r name version <<<"$(package_of "$program")"
    source=$(cat "$work/sources")/$name-$version
    place=$work/$program-$variant
    rm -rf "$place" && cp -r "$source" "$place"
    printf '\n[workspace]\n' >>"$place/Cargo.toml"
    # Dependencies as `cargo install` chooses them, the same in all variants: an old lock may hold versions that are too old for heist's.
    (cd "$place" && cargo update --quiet && cargo update --quiet rayon --precise "$rayon" && cargo update --quiet rayon-core --precise "$rayon_core")
    patch_of "$variant" >>"$place/Cargo.toml"
    # It must be the pool that we mean.
    local tree
    tree=$(cd "$place" && cargo tree --quiet --edges normal --prefix none)
    case $variant in
    published) ! grep -q '^heist' <<<"$tree" ;;
    core) grep -q "^rayon-core .*compat/rayon-core" <<<"$tree" && ! grep -q "^rayon v.*compat" <<<"$tree" ;;
    rayon) grep -q "^rayon v.*compat/rayon" <<<"$tree" ;;
    esac || { echo "$program: the patch for $variant has no effect" >&2; return 1; }
    # Warnings about other people's code are not ours to read.
    (cd "$place" && cargo build --quiet --release --bin "$program" 2>"$place/build.log") || { cat "$place/build.log" >&2; return 1; }
    cp "$CARGO_TARGET_DIR/release/$program" "$work/bin/$program-$variant"
}

echo "== sources"
sources
for program in "${programs[@]}"; do
    for variant in published core rayon; do
        if [ "${KEEP:-}" = 1 ] && [ -x "$work/bin/$program-$variant" ]; then continue; fi
        echo "== build $program, $variant (${SECONDS}s)"
        build "$program" "$variant"
    done
done

echo "== run (${SECONDS}s)"
python3 - "$work" "$rounds" "${programs[@]}" <<'P'
import hashlib, pathlib, random, resource, shutil, statistics, struct, subprocess, sys, time, zlib

work, rounds, programs = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
variants = ["published", "core", "rayon"]
given = work / "input"
shutil.rmtree(given, ignore_errors=True)
chance = random.Random(1)

def png(path, width, height, pixel):
    rows = b"".join(b"\0" + b"".join(bytes(pixel(x, y)) for x in range(width)) for y in range(height))
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b""))

def images(count, size):
    folder = given / f"images-{size}"
    folder.mkdir(parents=True)
    for n in range(count):
        def pixel(x, y):
            return (x * (n + 1) // 4 % 256, (x * y // (n + 3)) % 256, (y + 16 * ((x // 16 + y // 16 + n) % 2)) % 256)
        png(folder / f"{n:03}.png", size, size, pixel)
    return sorted(folder.iterdir())

def tree():
    folder = given / "tree"
    words = ["let x = 1;", "// a comment", "", "fn f() {", "}", "/* more", "of it */", "x += 1;", "if x > 2 {", "}"]
    texts = ["\n".join(chance.choice(words) for _ in range(chance.randrange(20, 600))) for _ in range(600)]
    for n in range(2400):
        place = folder / f"{n % 7}" / f"{n % 61}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{n}.{['rs', 'c', 'js', 'py'][n % 4]}").write_text(chance.choice(texts))
    return folder

small, large, files = images(8, 192), images(12, 160), tree()
written = work / "output"
# What is run, from a fixed folder, so that nothing printed names the variant.
commands = {
    "oxipng": ["-o", "3", "--force", "--dir", str(written), *map(str, small)],
    "tokei": ["--files", "--sort", "code", str(files)],
    "dust": ["-P", "-b", "-c", "-d", "9", "-n", "3000", "-w", "150", "-o", "b", str(files)],
    "fclones": ["group", "--format", "fdupes", str(files)],
    "gifski": ["--quiet", "--fps", "10", "--output", str(written / "all.gif"), *map(str, large)],
}

def run(program, variant):
    shutil.rmtree(written, ignore_errors=True)
    written.mkdir()
    cpu_time = lambda: sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    begun, before = time.perf_counter(), cpu_time()
    done = subprocess.run([work / "bin" / f"{program}-{variant}", *commands[program]], capture_output=True, text=True)
    took, cpu = time.perf_counter() - begun, cpu_time() - before
    if done.returncode != 0:
        sys.exit(f"{program}, {variant}: {done.returncode}\n{done.stderr}")
    # Order among files of the same rank is a race in some programs, with any pool.
    lines = "\n".join(sorted(done.stdout.splitlines()))
    content = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(written.iterdir())}
    return took, cpu, (lines, content)

failed = False
print(f"| program | published, ms: median (best) | compat/rayon-core | compat/rayon | CPU time: published, ms | rayon-core | rayon | output |")
print("|---|---|---|---|---|---|---|---|")
for program in programs:
    times = {variant: [] for variant in variants}
    cpus = {variant: [] for variant in variants}
    seen = set()
    for turn in range(rounds):
        for variant in variants[turn % 3:] + variants[:turn % 3]:
            took, cpu, (lines, content) = run(program, variant)
            times[variant].append(took)
            cpus[variant].append(cpu)
            seen.add((lines, tuple(content.items())))
    base, cpu_base = statistics.median(times["published"]), statistics.median(cpus["published"])
    # The best is what a machine that others use, too, disturbs least.
    ratio = lambda v: f"x{statistics.median(times[v]) / base:.2f} (x{min(times[v]) / min(times['published']):.2f})"
    cpu_ratio = lambda v: statistics.median(cpus[v]) / cpu_base
    same = "the same" if len(seen) == 1 else f"{len(seen)} different ones"
    failed |= len(seen) != 1
    print(f"| {program} | {base * 1000:.1f} ({min(times['published']) * 1000:.1f}) | {ratio('core')} | {ratio('rayon')} "
          f"| {cpu_base * 1000:.1f} | x{cpu_ratio('core'):.2f} | x{cpu_ratio('rayon'):.2f} | {same} |", flush=True)
sys.exit(1 if failed else 0)
P
