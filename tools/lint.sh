#!/bin/sh
# Static analysis of the C files; each tool that is missing is left out, saying so.
# Usage: tools/lint.sh "CPPFLAGS" FILE...
set -eu

cppflags=$1
shift
bad=0

have() {
  command -v "$1" >/dev/null || { echo "lint: without $1, which is not installed"; false; }
}

if have clang-tidy; then
  echo "  TIDY  $# files"
  # shellcheck disable=SC2086
  printf '%s\n' "$@" | xargs -P "$(nproc)" -n 4 sh -c '
    flags=$0
    clang-tidy --quiet "$@" -- -std=c17 $flags 2>/dev/null' "$cppflags" || bad=1
fi
if have cppcheck; then
  echo "  CPPCHECK"
  # invalidPointerCast: fields that tables of parameters name by their offset. memleak: it
  # does not see that arrays take structs over; the leak sanitizer of make asan does.
  cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr \
    --suppress=missingIncludeSystem --suppress=invalidPointerCast --suppress=memleak \
    --library=gtk --library=tools/cppcheck.cfg -j "$(nproc)" --error-exitcode=1 -I. "$@" ||
    bad=1
fi
exit $bad
