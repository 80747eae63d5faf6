#!/bin/sh
# Fail if a file includes from a folder it may not know about, or a header whose owner is
# another folder.
# Usage: tests/check-layers.sh [FILE...]     default: every C file of the tree
set -eu

cd "$(dirname "$0")/.."
# shellcheck disable=SC2046
[ $# -gt 0 ] || set -- $(find models sim calibrate tests -name '*.[ch]' | sort)

awk '
BEGIN {
  may["sim/base"]     = "sim/base"
  may["models"]       = "sim/base models"
  may["sim/scenario"] = "sim/base models calibrate sim/scenario"
  may["sim/engine"]   = "sim/base models sim/engine"
  may["sim/training"] = "sim/base models sim/engine sim/training"
  may["sim/output"]   = "sim/base models sim/output"
  may["calibrate"]    = "sim/base models calibrate"
  may["sim/command"]  = "sim/base models sim/scenario sim/engine sim/training sim/output calibrate sim/command"
  may["sim"]          = "sim/base sim/command"
  may["tests"]        = may["sim/command"] " tests"

  only["simgrid/"] = "sim/engine tests"
  only["xbt/"]     = "sim/engine tests"
  only["smpi/"]    = "sim/engine"
  only["cjson/"]   = "sim/base sim/scenario sim/output calibrate tests"
  only["yajl/"]    = "calibrate"
  only["gsl/"]     = "sim/base calibrate"
  only["CUnit/"]   = "tests"
  only["cuda"]     = "calibrate"
  only["cublas"]   = "calibrate"
  only["nccl.h"]   = "calibrate"
}
# The deepest known folder that holds path.
function folder(path,    best, f) {
  best = ""
  for (f in may)
    if (index(path, f "/") == 1 && length(f) > length(best))
      best = f
  return best
}
function holds(list, word) { return index(" " list " ", " " word " ") > 0 }
function complain(why) { print FILENAME ":" FNR ": " why; bad = 1 }

FNR == 1 { here = folder(FILENAME) }
/^[ \t]*#[ \t]*include[ \t]*"/ {
  split($0, part, "\"")
  there = folder(part[2])
  if (there == "")
    complain("\"" part[2] "\": includes are written from the root")
  else if (!holds(may[here], there))
    complain(here " may not include " part[2])
}
/^[ \t]*#[ \t]*include[ \t]*</ {
  split($0, part, /[<>]/)
  for (prefix in only)
    if (index(part[2], prefix) == 1 && !holds(only[prefix], here))
      complain("<" part[2] "> belongs to " only[prefix])
}
END { exit bad }
' "$@"
