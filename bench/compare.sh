#!/usr/bin/env bash
# Two builds of the benchmark against each other, run as processes in alternation, line by line.
# Use: bench/compare.sh OLD_BINARY NEW_BINARY [LINE ...] [ROUNDS=10] [-- ARGUMENT ...]
# Without lines: all that both know. The arguments go to both binaries; without any it is --quick.
# BAR=1.02 in the environment is a bar for rows and means alike, instead of those below.
set -euo pipefail

die() {
    echo "$*" >&2
    exit 2
}

(($# >= 2)) || die "use: $0 OLD_BINARY NEW_BINARY [LINE ...] [ROUNDS=10] [-- ARGUMENT ...]"
old=$1 new=$2
shift 2
rounds=${ROUNDS:-10} lines=() arguments=(--quick)
while (($# > 0)); do
    case $1 in
        ROUNDS=*) rounds=${1#ROUNDS=} ;;
        --)
            shift
            arguments=("$@")
            break
            ;;
        *) lines+=("$1") ;;
    esac
    shift
done
[[ $rounds =~ ^[1-9][0-9]*$ ]] || die "ROUNDS is a number, not $rounds"
((rounds >= 10)) || echo "fewer than 10 rounds: a trial of the script, not a comparison" >&2

known() { "$1" --list | awk '$1 != "-" { print $1 }'; }
both=$(comm -12 <(known "$old" | sort) <(known "$new" | sort))
[[ -n $both ]] || die "$old and $new have no line in common"
if ((${#lines[@]} == 0)); then
    mapfile -t lines < <(known "$new" | grep -Fxf <(echo "$both"))
fi
for line in "${lines[@]}"; do
    grep -Fxq -- "$line" <<<"$both" || die "not both binaries know the line $line"
done

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

run() { # BINARY NAME LINE ROUND
    "$1" "${arguments[@]}" --only "$3" --json "$folder/$3.$4.$2.json" >"$folder/log" 2>&1 || {
        cat "$folder/log" >&2
        die "$1 failed in $3, round $4"
    }
}

for line in "${lines[@]}"; do
    for ((round = 1; round <= rounds; round++)); do
        echo "$line: round $round of $rounds" >&2
        # Who goes first alternates, too.
        if ((round % 2)); then
            run "$old" old "$line" "$round"
            run "$new" new "$line" "$round"
        else
            run "$new" new "$line" "$round"
            run "$old" old "$line" "$round"
        fi
    done
done

python3 - "$folder" "$rounds" "${lines[@]}" <<'PYTHON'
import json, math, os, statistics, sys

BAR = os.environ.get("BAR")
LINE_MAX, ROW_MAX = (float(BAR), float(BAR)) if BAR else (1.03, 1.10)
# Counts jump by whole threads, and ratios are there of the times that are compared anyway: they have bars of their own.
NOT_COMPARED = {"threads", "voluntary switches", "wake-ups", "x rayon", "ratio"}
# A row of the kernel's, in a table without contestants.
KERNEL = "futex"
folder, rounds, lines = sys.argv[1], int(sys.argv[2]), sys.argv[3:]


def figures(line, number, build):
    """The judged figure of each row, those of the peers apart."""
    ours, peers = {}, {}
    with open(f"{folder}/{line}.{number}.{build}.json") as file:
        report = json.load(file)
    for table in report["tables"]:
        if table["unit"] in NOT_COMPARED:
            continue
        # Where contestants have rows of their own, heist's say so. Elsewhere all rows are heist's.
        has_peers = any(row["name"].startswith("heist") for row in table["rows"])
        for row in table["rows"]:
            name = row["name"]
            is_ours = name.startswith("heist") or not (has_peers or name.startswith(KERNEL))
            (ours if is_ours else peers)[table["title"], name] = row[table["judged_by"]]
    return ours, peers


def ratio(old, new):
    if old == new:
        return 1.0
    return new / old if old > 0 and new is not None else math.inf


def medians(pairs):
    """The median over the rounds of new/old, for the rows that every round has."""
    rows = [row for row in pairs[0][0] if all(row in old and row in new for old, new in pairs)]
    return {row: statistics.median(ratio(old[row], new[row]) for old, new in pairs) for row in rows}


def mean(ratios):
    """Geometric. A row that came from or went to 0 has no ratio, and is judged by itself."""
    finite = [ratio for ratio in ratios if 0 < ratio < math.inf]
    return statistics.geometric_mean(finite) if finite else 1.0


missed = 0
for line in lines:
    both = [[figures(line, number, build) for build in ("old", "new")] for number in range(1, rounds + 1)]
    ours = medians([(old[0], new[0]) for old, new in both])
    peers = medians([(old[1], new[1]) for old, new in both])
    title = None
    for (table, name), value in ours.items():
        if table != title:
            title = table
            print(f"\n{line}: {table}")
        verdict = "ok" if value <= ROW_MAX else "MISSED"
        missed += value > ROW_MAX
        print(f"  {value:7.3f} x  {name}  [<= {ROW_MAX:.2f}] {verdict}")
    alone = sum(len(old[0].keys() ^ new[0].keys()) for old, new in both[:1])
    if alone:
        print(f"  {alone} rows are in one build only")
    value = mean(ours.values())
    verdict = "ok" if value <= LINE_MAX else "MISSED"
    missed += value > LINE_MAX
    print(f"{line}: geometric mean of {len(ours)} rows: {value:.3f} x old [<= {LINE_MAX:.2f}] {verdict}")
    if peers:
        # The same code in both builds: how far it is from 1 is what noise and layout do.
        print(f"{line}: the same of {len(peers)} rows of peers: {mean(peers.values()):.3f}")
print(f"\n{missed} bars missed in {rounds} rounds" if missed else f"\nall bars met in {rounds} rounds")
sys.exit(1 if missed else 0)
PYTHON
