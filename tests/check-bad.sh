#!/bin/sh
# Every wrong input is refused: exit code 1 (2 if the command line is what is wrong, and
# the message begins with the program's name), the message we want, nothing else.
# Usage: tests/check-bad.sh [PROGRAM] [--update]
#
# tests/bad/NAME.json is checked as a scenario, unless NAME.args holds other arguments; a
# file of arguments may also stand alone. NAME.expected is what standard error must say.
set -eu

cd "$(dirname "$0")/bad"
program=../../${BUILD:-build}/stepcast
update=
for arg; do
  case $arg in
  --update) update=yes ;;
  /*) program=$arg ;;
  *) program=../../$arg ;;
  esac
done
[ -x "$program" ] || exit 77
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
bad=0

complain() {
  echo "tests/bad/$name: $1"
  bad=1
}

# Sets $name to each case in turn.
for file in *.json *.args; do
  name=${file%.*}
  case $file in
  *.model.json) continue ;;
  *.args) args=$(cat "$file") ;;
  *) [ -e "$name.args" ] && continue || args="check $file" ;;
  esac

  find . -type f | sort >"$scratch/before"
  code=0
  # shellcheck disable=SC2086
  "$program" $args >"$scratch/out" 2>"$scratch/err" </dev/null || code=$?
  find . -type f | sort >"$scratch/after"

  wanted=1
  grep -q '^stepcast: ' "$scratch/err" && wanted=2
  [ "$code" -eq "$wanted" ] || complain "exit code $code, not $wanted"
  [ ! -s "$scratch/out" ] || complain "something on standard output"
  cmp -s "$scratch/before" "$scratch/after" || complain "a file was written"
  if [ -n "$update" ]; then
    cp "$scratch/err" "$name.expected"
  elif ! diff -u "$name.expected" "$scratch/err"; then
    complain "another message"
  fi
done
exit $bad
