#!/usr/bin/env bash
# Everything that a short stay on a GPU machine is for: build, compare the kernels with the
# CPU's bit by bit, look for races, calibrate twice, compare the two, and keep it all.
# Usage: tools/gpu-calibrate.sh [--dry-run] [--seconds 840] [--nccl-lib PATH] [FOLDER]
#
# FOLDER (gpu-calibration) gets the samples of both sweeps, what nvidia-smi and the program
# said, and summary.txt. Steps have time limits of their own; one that fails or whose tool is
# missing is written down, and the next goes on. Clocks are never set.
# Exit: 0 all was done, 1 something failed, 77 no GPU, 78 no plug-in.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

seconds=840
folder=gpu-calibration
dry_run=
nccl=()
while [ $# -gt 0 ]; do
  case $1 in
  --dry-run) dry_run=yes ;;
  --seconds) seconds=${2:?--seconds wants a number} && shift ;;
  --nccl-lib) nccl=(--nccl-lib "${2:?--nccl-lib wants a path}") && shift ;;
  -h | --help) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" && exit 0 ;;
  -*) echo "unknown option $1" >&2 && exit 2 ;;
  *) folder=$1 ;;
  esac
  shift
done
case $seconds in
'' | *[!0-9]*) echo "--seconds $seconds: a whole number" >&2 && exit 2 ;;
esac

build=${BUILD:-build}
program=$build/stepcast
began=$SECONDS
failed=0

left() {
  echo $((seconds - (SECONDS - began)))
}

note() {
  echo "$1" | tee -a "$folder/summary.txt"
}

# step NAME LIMIT COMMAND...: the command's output goes to FOLDER/NAME.txt. Returns its exit
# code; 124 or 137 if it took longer than LIMIT seconds, or than there are left.
step() {
  local name=$1 limit=$2 code=0
  shift 2
  [ "$limit" -le "$(left)" ] || limit=$(left)
  if [ -n "$dry_run" ]; then
    echo "$name (at most $limit s): $*"
    return 0
  fi
  if [ "$limit" -lt 5 ]; then
    note "$name: left out, no time"
    failed=1
    return 124
  fi
  local start=$SECONDS
  timeout -k 5 "$limit" "$@" >"$folder/$name.txt" 2>&1 </dev/null || code=$?
  case $code in
  0) note "$name: done in $((SECONDS - start)) s" ;;
  124 | 137) note "$name: stopped after $limit s" ;;
  *) note "$name: failed with $code: $(tail -n 1 "$folder/$name.txt")" ;;
  esac
  [ "$code" -eq 0 ] || failed=1
  return "$code"
}

have() {
  command -v "$1" >/dev/null && return
  [ -n "$dry_run" ] && echo "without $1, which is not installed" && return 1
  note "without $1, which is not installed"
  return 1
}

# Rows of both sweeps with the same name, and how far their medians lie apart.
compare_sweeps() {
  awk -F, '
    NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
    FNR == 1 { next }
    {
      key = ""
      for (i = 1; i < column["median_s"]; i++) key = key $i ","
      time = $column["median_s"] + 0
      if (FNR == NR) { if (time > 0) first[key] = time; next }
      if (!(key in first) || time <= 0) next
      ratio = time / first[key]
      off = ratio > 1 ? ratio - 1 : 1 / ratio - 1
      n++
      within2 += off <= 0.02
      within5 += off <= 0.05
      within10 += off <= 0.10
      if (off > worst) { worst = off; name = key }
    }
    END {
      if (!n) { print "no cell in both sweeps"; exit 1 }
      printf "%d cells in both sweeps: %.0f %% within 2 %%, %.0f %% within 5 %%, %.0f %% within 10 %%\n",
        n, 100 * within2 / n, 100 * within5 / n, 100 * within10 / n
      printf "worst: %.1f %% (%s)\n", 100 * worst, name
    }' "$1" "$2"
}

if [ -z "$dry_run" ]; then
  mkdir -p "$folder" || exit 1
  : >"$folder/summary.txt"
  note "began $(date -u '+%Y-%m-%d %H:%M UTC'), at most $seconds s"
fi

if have nvidia-smi; then
  step state-before 20 nvidia-smi -q
  step topology 20 nvidia-smi topo -m
fi
step build 240 make CUDA=yes "BUILD=$build" all || {
  [ -x "$program" ] || exit 1
}

# The quickest question first: is there a GPU at all?
code=0
step self-test 60 "$program" calibrate gpu --self-test || code=$?
case $code in
77 | 78) exit "$code" ;;
esac

sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
if [ -n "$sanitizer" ]; then
  for tool in memcheck racecheck synccheck; do
    step "sanitizer-$tool" 60 "$sanitizer" --tool "$tool" --error-exitcode 9 \
      "$program" calibrate gpu --self-test
  done
else
  have compute-sanitizer
fi

# Two sweeps share what is left, but for 20 s at the end.
for sweep in 1 2; do
  share=$((($(left) - 20) / (3 - sweep)))
  [ "$share" -gt 10 ] || share=10
  limit=$((share - 5))
  [ "$limit" -le 240 ] || limit=240
  step "sweep-$sweep" "$share" "$program" calibrate gpu --quick --max-bytes 1G \
    --time-limit "$limit" "${nccl[@]}" -o "$folder/samples-$sweep.csv"
done

# What NCCL's own model says of this machine, for every algorithm and protocol: its log, and
# the log as samples.
gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU' || true)
if [ "$gpus" -gt 1 ]; then
  all=$(seq -s , 0 $((gpus - 1)))
  step tuning 60 sh -c "echo 0 1048576 0 1 | NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=TUNING \
    $program calibrate gpu --exchange --devices $all ${nccl[*]}" &&
    step tuning-import 20 "$program" calibrate import "$folder/tuning.txt" -o "$folder/tuning.csv"
fi

if [ -n "$dry_run" ]; then
  echo "then the two sweeps are compared, cell by cell"
  [ ! -x "$program" ] || "$program" calibrate gpu --dry-run --quick --max-bytes 1G | tail -n 1
  exit 0
fi
if [ -s "$folder/samples-1.csv" ] && [ -s "$folder/samples-2.csv" ]; then
  comparison=$(compare_sweeps "$folder/samples-1.csv" "$folder/samples-2.csv") || failed=1
  note "$comparison"
fi
! command -v nvidia-smi >/dev/null || step state-after 20 nvidia-smi -q
note "took $((SECONDS - began)) s; everything is in $folder/"
exit $failed
