#!/bin/sh
# Instructions that each benchmark takes, as callgrind counts them: unlike seconds, they
# are the same on a busy machine.
# Usage: tests/bench/instructions.sh
set -eu

cd "$(dirname "$0")/../.."
program=${BUILD:-build}/stepcast
command -v valgrind >/dev/null || { echo "instructions: left out, valgrind is not installed"; exit 0; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

for scenario in tests/bench/chain-25x8.json tests/bench/resnet50-200x8.json; do
  valgrind --tool=callgrind --callgrind-out-file="$scratch/out" "$program" run "$scenario" \
    >/dev/null 2>"$scratch/log" || { cat "$scratch/log" >&2; exit 1; }
  printf '%-28s %s instructions\n' "$(basename "$scenario" .json)" \
    "$(awk '/Collected :/ { n += $NF } END { printf "%.0f", n }' "$scratch/log")"
done
