#!/bin/sh
# However `calibrate host --netns` is ended, none of its processes, and so none of its
# namespaces, is left. Root; 77 where it cannot run.
# Usage: tests/testbed/teardown.sh [STEPCAST]
set -eu

program=${1:-build/stepcast}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
bad=0

# A zombie waits for init to fetch its status; its namespaces are gone.
lives() {
  grep -qs '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$1/status"
}

# All descendants of $1, and itself.
family() {
  echo "$1"
  # shellcheck disable=SC2002 # the file may be gone by then
  cat "/proc/$1/task/$1/children" 2>/dev/null | tr ' ' '\n' | while read -r child; do
    family "$child"
  done
}

for signal in TERM KILL HUP; do
  "$program" calibrate host --netns 3 --rate 20mbit -q 2>"$scratch/said" &
  pid=$!
  tries=0
  # Three hosts, a switch and the program itself; more once it measures.
  while [ "$(family "$pid" | wc -l)" -lt 7 ]; do
    if ! kill -0 "$pid" 2>/dev/null; then
      status=0
      wait "$pid" || status=$?
      cat "$scratch/said"
      exit "$status"
    fi
    tries=$((tries + 1))
    [ "$tries" -lt 400 ] || { echo "it does not begin"; kill -KILL "$pid"; exit 1; }
    sleep 0.05
  done
  family "$pid" >"$scratch/pids"
  kill "-$signal" "$pid"
  wait "$pid" 2>/dev/null || true
  sleep 1
  left=0
  while read -r one; do
    if lives "$one"; then
      echo "after SIG$signal, process $one is left: $(tr '\0' ' ' <"/proc/$one/cmdline")"
      bad=1
      left=$((left + 1))
    fi
  done <"$scratch/pids"
  echo "SIG$signal: $(wc -l <"$scratch/pids") processes, $left left"
done
exit $bad
