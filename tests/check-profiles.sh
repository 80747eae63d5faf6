#!/bin/sh
# The profiles that come with the program are what the logs in the tree make, byte for byte;
# adding to a profile gives what reading everything at once gives, whole or not at all.
set -eu

cd "$(dirname "$0")/.."
program=$PWD/${BUILD:-build}/stepcast
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
bad=0

complain() {
  echo "$1"
  bad=1
}

tools/profiles.sh "$program" "$scratch" >/dev/null
for made in "$scratch"/*.json; do
  cmp "calibrate/profiles/${made##*/}" "$made" || complain "${made##*/}: make profiles makes another one"
done
for kept in calibrate/profiles/*.json; do
  [ -e "$scratch/${kept##*/}" ] || complain "$kept: calibrate/profiles/list.txt does not make it"
done

logs=tests/reference/nccl-tests/raw
one=$logs/a100x8-allreduce-gcm.txt two=$logs/a100-N2x8-allreduce-gcm.txt
mkdir "$scratch/at-once" "$scratch/added"
"$program" calibrate import -q --date 2026-01-02 "$one" "$two" -o "$scratch/at-once/box.json"
"$program" calibrate import -q --date 2026-01-02 "$one" -o "$scratch/added/box.json"
"$program" calibrate import -q --into "$scratch/added/box.json" "$two"
cmp "$scratch/at-once/box.json" "$scratch/added/box.json" || complain "--into: not as if read at once"

# The second of these is no log, the third is in it already.
for wrong in "$logs/rows.csv" "$one"; do
  code=0
  "$program" calibrate import -q --into "$scratch/added/box.json" "$logs/h100x8-allreduce-nvls.txt" "$wrong" \
    2>"$scratch/said" || code=$?
  [ "$code" -eq 1 ] || complain "--into with $wrong: exit code $code: $(cat "$scratch/said")"
  cmp "$scratch/at-once/box.json" "$scratch/added/box.json" || complain "--into with $wrong: not refused whole"
done
exit $bad
