#!/bin/sh
# Wall time and peak memory of the program, and what folding saves: every figure and both
# sides of every ratio are measured in turn, in one run.
# Usage: tests/bench/run.sh [ROUNDS]
set -eu

cd "$(dirname "$0")/../.."
build=${BUILD:-build}
program=$build/stepcast
rounds=${1:-3}
list=$(mktemp)
trap 'rm -f "$list" "$list.out"' EXIT

{
  for name in chain-25x8 resnet50-200x8 resnet50-2048x8 resnet50-16384x8 \
    trees-16384x8 ddp-200x8; do
    printf '%s\t%s run tests/bench/%s.json\n' $name "$program" $name
  done
  for strategy in $("$program" list strategy | awk '{ print $1 }'); do
    printf '200x8-%s\t%s run tests/bench/resnet50-200x8.json --set strategy={"name":"%s"}\n' \
      "$strategy" "$program" "$strategy"
  done
  printf '200x8-byteps-50\t%s run tests/bench/resnet50-200x8.json --set %s\n' \
    "$program" 'strategy={"name":"byteps","servers":50}'
  for name in chain-25x8 ddp-200x8; do
    printf '%s,unfolded\t%s run --fold=off tests/bench/%s.json\n' $name "$program" $name
  done
} >"$list"

"$build/tests/bench/measure" "$rounds" "$list" >"$list.out"
awk -F'\t' '
BEGIN { printf "%-28s %10s %10s %22s\n", "scenario", "wall", "peak", "wall / wall folded" }
{
  time[$1] = $2
  base = $1
  ratio = ""
  if (sub(/,.*/, "", base) && time[base] > 0)
    ratio = sprintf("%.1f", $2 / time[base])
  printf "%-28s %8.3f s %6.0f MiB %22s\n", $1, $2, $3, ratio
}
END {
  printf "131,072 GPUs against 1,600: %.1f times the wall time, 82 times the GPUs\n",
         time["resnet50-16384x8"] / time["resnet50-200x8"]
}' "$list.out"
