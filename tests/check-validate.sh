#!/bin/sh
# Fail if predictions of the public tables have become worse: medians of the relative error,
# of time for nccl-tests (all tables, and those that no constant comes from), of throughput
# for training, over all systems.
# Usage: tests/check-validate.sh        needs $BUILD/tests/validate/{validate,training}
set -eu

cd "$(dirname "$0")/.."
build=${BUILD:-build}
"$build/tests/validate/validate" | awk '
# Fields: a name, then "median / 90th / worst" of each class; the slashes stick to numbers.
{ gsub("/", " ") }
$1 == "all" { small = $2; middle = $5; medium = $8; large = $11 }
/^out of sample/ {
  sub(/.*others/, "others")
  others_middle = $5; others_middle_90 = $6; others_medium = $8; others_medium_90 = $9
}
END {
  print "median errors: " small " % to 32 KiB, " middle " % to 512 KiB, " medium \
        " % to 64 MiB, " large " % above"
  print "out of sample: " others_middle " / " others_middle_90 " % to 512 KiB, " others_medium \
        " / " others_medium_90 " % to 64 MiB"
  exit !(large != "" && small <= 10 && middle <= 14 && medium <= 10 && large <= 5 &&
         others_middle != "" && others_middle <= 16 && others_middle_90 <= 63 &&
         others_medium <= 11 && others_medium_90 <= 49)
}'
"$build/tests/validate/training" | awk '
$1 == "all" { median = $3; most = $4 }
END {
  print "training: median error " median " %, 90th percentile " most " %"
  exit !(median != "" && median <= 7 && most <= 25)
}'
