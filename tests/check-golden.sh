#!/bin/sh
# Compare what the program says with tests/golden/, and with itself when run again.
# Usage: tests/check-golden.sh [--update]
#
# tests/golden/NAME.args holds the arguments of one run. Its standard output must equal
# NAME.txt, and each file it writes as OUT.SUFFIX must equal NAME.SUFFIX. Numbers are
# compared at six significant digits, so that the last bits of a mathematical library do
# not matter; two runs on one machine must agree in every byte.
set -eu

cd "$(dirname "$0")/.."
program=$PWD/${BUILD:-build}/stepcast
update=${1:-}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
bad=0

# Write FILE's text with every fraction cut to six significant digits.
rounded() {
  awk '{
    out = ""
    while (match($0, /[0-9]+\.[0-9]+([eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+/)) {
      number = substr($0, RSTART, RLENGTH)
      digits = number
      sub(/[eE].*/, "", digits)
      sub(/\./, "", digits)
      sub(/^0+/, "", digits)
      if (length(digits) > 6)
        number = sprintf("%.6g", number)
      out = out substr($0, 1, RSTART - 1) number
      $0 = substr($0, RSTART + RLENGTH)
    }
    print out $0
  }' "$1"
}

# Run NAME's arguments into folder $2.
run() {
  mkdir "$2"
  # shellcheck disable=SC2046
  set -- "$1" "$2" $(sed "s,\bOUT\.,$2/out.,g" "tests/golden/$1.args")
  name=$1 folder=$2
  shift 2
  "$program" "$@" >"$folder/out.txt" 2>"$folder/stderr" || {
    echo "$name: exit status $?"
    cat "$folder/stderr"
    bad=1
  }
}

n=0
for args in tests/golden/*.args; do
  [ -e "$args" ] || continue
  name=$(basename "$args" .args)
  n=$((n + 1))
  run "$name" "$scratch/a"
  run "$name" "$scratch/b"
  for written in "$scratch"/a/out.*; do
    suffix=${written##*/out.}
    golden=tests/golden/$name.$suffix
    cmp "$written" "$scratch/b/out.$suffix" || { echo "$name: two runs differ"; bad=1; }
    rounded "$written" >"$scratch/now"
    if [ -n "$update" ]; then
      cmp -s "$scratch/now" "$golden" || { echo "  GOLDEN $golden"; cp "$scratch/now" "$golden"; }
    elif ! diff -u "$golden" "$scratch/now"; then
      echo "$name: $golden does not hold; if the change is meant: make golden"
      bad=1
    fi
  done
  rm -rf "$scratch/a" "$scratch/b"
done
echo "$n golden runs"
exit $bad
