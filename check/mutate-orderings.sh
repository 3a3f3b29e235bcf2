#!/usr/bin/env bash
# Weakens every memory ordering and removes every fence of the fork stack, the permits, the driver lock and the signal, one at a
# time, on a copy of the tree, and runs the loom models until one fails. What survives is either not needed, or needed for
# something that the models do not show; each known survivor is listed below with its reason.
#
#   check/mutate-orderings.sh               all
#   check/mutate-orderings.sh FIRST LAST    some, by number
#
# Hours rather than minutes; not part of CI. Exits with 1 if anything survives that is not listed.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
src=crates/heist-pool/src
files="$src/queues/forks/hot.rs $src/queues/forks/mod.rs $src/queues/forks/owner.rs $src/queues/forks/slot.rs
$src/queues/forks/thief.rs $src/permits/mod.rs $src/permits/words.rs $src/driver_lock.rs $src/signal.rs $src/pool.rs
$src/worker/park.rs $src/worker/shared.rs $src/worker/wait.rs"

# file:text:mutation, with a reason. Text is the line without its indentation.
allowed=$(cat "$root/check/mutate-orderings.allowed")

export RUSTFLAGS="--cfg heist_model --cfg heist_loom" RUST_BACKTRACE=0
# In every model, also in those that have fewer in CI.
export LOOM_MAX_PREEMPTIONS=${LOOM_MAX_PREEMPTIONS:-2}
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
tar cf - --exclude=./target --exclude=./.git --exclude=./bench . | tar xf - -C "$copy"
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/target}/mutants

# Prints "file line occurrence from to" for each mutant.
mutants() {
    for file in $files; do
        awk -v file="$file" '
            /^mod tests \{/ { exit }
            /^ *\/\// { next }
            /fence\(Ordering::SeqCst\);|barrier::(light|heavy)\(\);/ { print file, NR, 0, "barrier", "nothing"; next }
            {
                rest = $0; n = 0
                while (match(rest, /Ordering::(AcqRel|Acquire|Release|SeqCst)/)) {
                    found = substr(rest, RSTART, RLENGTH); n++
                    if (found ~ /AcqRel/) { print file, NR, n, found, "Ordering::Acquire"; print file, NR, n, found, "Ordering::Release" }
                    else if (found ~ /SeqCst/) print file, NR, n, found, "Ordering::AcqRel"
                    else print file, NR, n, found, "Ordering::Relaxed"
                    rest = substr(rest, RSTART + RLENGTH)
                }
            }' "$file"
    done
}

# mutate FILE LINE OCCURRENCE TO: to stdout.
mutate() {
    awk -v at="$2" -v nth="$3" -v to="$4" '
        NR != at { print; next }
        nth == 0 { next }
        {
            rest = $0; out = ""; n = 0
            while (match(rest, /Ordering::(AcqRel|Acquire|Release|SeqCst)/)) {
                n++
                out = out substr(rest, 1, RSTART - 1) (n == nth ? to : substr(rest, RSTART, RLENGTH))
                rest = substr(rest, RSTART + RLENGTH)
            }
            print out rest
        }' "$1"
}

# Runs all models until one fails; prints its name, or nothing if none does.
killer() {
    local binary model code
    cargo test --profile model -p heist-pool --lib --no-run >"$copy/log" 2>&1 || { echo "does not build"; return; }
    binary=$(sed -n 's/.*Executable.*(\(.*\))/\1/p' "$copy/log")
    for model in $("$binary" --list 2>/dev/null | sed -n 's/: test$//p' | grep loom::); do
        code=$( (timeout 600 "$binary" --exact "$model" >/dev/null 2>&1; echo $?) 2>/dev/null)
        if [ "$code" -ne 0 ]; then echo "$model"; return; fi
    done
}

number=0 killed=0 survived=0 unexpected=0
cd "$copy"
while read -r file line nth from to; do
    number=$((number + 1))
    if [ $# -eq 2 ] && { [ "$number" -lt "$1" ] || [ "$number" -gt "$2" ]; }; then continue; fi
    cp "$root/$file" "$copy/original"
    mutate "$copy/original" "$line" "$nth" "$to" >"$file"
    by=$(killer)
    cp "$copy/original" "$file"
    text=$(sed -n "${line}s/^ *//p" "$file")
    what="${file#crates/heist-pool/src/}:$line  $text  ($from $nth -> $to)"
    if [ -n "$by" ]; then
        killed=$((killed + 1))
        echo "killed    $number $what by $by"
    else
        survived=$((survived + 1))
        key="${file#crates/heist-pool/src/}: $text: $nth -> $to"
        if grep -qF -- "$key" <<<"$allowed"; then
            echo "survived  $number $what (known)"
        else
            unexpected=$((unexpected + 1))
            echo "SURVIVED  $number $what"
        fi
    fi
done < <(cd "$root" && mutants)
echo "$killed killed, $survived survived, of which $unexpected without a reason"
[ "$unexpected" -eq 0 ]
