#!/bin/sh
# Fail if predictions of the public tables have become worse: medians of the relative error,
# of time for nccl-tests, of throughput for training, over all systems.
# Usage: tests/check-validate.sh        needs $BUILD/tests/validate/{validate,training}
set -eu

cd "$(dirname "$0")/.."
build=${BUILD:-build}
"$build/tests/validate/validate" | awk '
$1 == "all" {
  # Fields: all, then "median / 90th / worst" of each class; the slashes stick to numbers.
  gsub("/", " ")
  small = $2; middle = $5; medium = $8; large = $11
}
END {
  print "median errors: " small " % to 32 KiB, " middle " % to 512 KiB, " medium \
        " % to 64 MiB, " large " % above"
  exit !(large != "" && small <= 16 && middle <= 45 && medium <= 16 && large <= 6)
}'
"$build/tests/validate/training" | awk '
$1 == "all" { median = $3; most = $4 }
END {
  print "training: median error " median " %, 90th percentile " most " %"
  exit !(median != "" && median <= 7 && most <= 25)
}'
