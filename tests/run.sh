#!/bin/sh
# Run tests side by side, one line each; print what failing ones said, then the count.
# Usage: tests/run.sh LOG_FOLDER TEST...
# A test is a program or script; it passes with exit status 0 and is skipped with 77.
set -eu

logs=$1
shift
rm -rf "$logs"
mkdir -p "$logs"

run_one='
  logs=$1 test=$2
  name=$(basename "$test")
  began=$(date +%s%N)
  "$test" >"$logs/$name.log" 2>&1 </dev/null
  status=$?
  took=$((($(date +%s%N) - began) / 10000000))
  case $status in
    0) word=PASS ;;
    77) word=SKIP ;;
    *) word=FAIL ;;
  esac
  echo "$word $test" >"$logs/$name.status"
  printf "  %s  %s (%d.%02d s)\n" $word "$test" $((took / 100)) $((took % 100))
'
printf '%s\n' "$@" | xargs -P "${JOBS:-$(nproc)}" -I{} sh -c "$run_one" run "$logs" {}

count() {
  cat "$logs"/*.status | grep -c "^$1 " || true
}

for status in "$logs"/*.status; do
  read -r word test <"$status"
  [ "$word" = FAIL ] || continue
  printf '\n%s said:\n' "$test"
  tail -n 60 "${status%.status}.log"
done

passed=$(count PASS) failed=$(count FAIL) skipped=$(count SKIP)
lost=$(($# - passed - failed - skipped))
[ "$skipped" -eq 0 ] || note=", $skipped skipped"
echo "$passed passed, $((failed + lost)) failed${note:-}"
[ $((failed + lost)) -eq 0 ]
