#!/bin/sh
# Everything about GPUs that can be seen without one: the program links no CUDA, builds
# without nvcc, and says in one line, with its exit code, what is missing.
# Usage: tests/check-gpu.sh
set -eu

cd "$(dirname "$0")/.."
build=${BUILD:-build}
program=$PWD/$build/stepcast
plugin=$PWD/$build/stepcast-gpu.so
[ -x "$program" ] || exit 77
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
bad=0

complain() {
  echo "$1"
  bad=1
}

# expect CODE TEXT COMMAND...: it fails like this, in one line, and writes nothing.
expect() {
  code=$1 text=$2
  shift 2
  actual=0
  "$@" calibrate gpu -o "$scratch/written.csv" >"$scratch/out" 2>"$scratch/err" </dev/null || actual=$?
  [ "$actual" -eq "$code" ] || complain "exit code $actual, not $code: $text"
  grep -qF -- "$text" "$scratch/err" || complain "not '$text' but '$(cat "$scratch/err")'"
  [ "$(wc -l <"$scratch/err")" -eq 1 ] || complain "more than one line: $text"
  [ ! -s "$scratch/out" ] || complain "something on standard output: $text"
  [ ! -e "$scratch/written.csv" ] || complain "a file was written: $text"
}

if command -v ldd >/dev/null; then
  ! ldd "$program" | grep -iE 'cuda|nccl|cublas|nvidia' || complain "stepcast links CUDA"
fi

mkdir -p "$scratch/bin" "$scratch/lib/stepcast"
cp "$program" "$scratch/bin/stepcast"
alone=$scratch/bin/stepcast
expect 78 'this build has no GPU support' "$alone"
echo garbage >"$scratch/lib/stepcast/stepcast-gpu.so"
expect 78 'GPU plug-in cannot be loaded: ' "$alone"
echo 'const void *stepcast_gpu_plugin(void) { static unsigned abi[64]; return abi; }' >"$scratch/old.c"
if ${CC:-cc} -shared -fPIC -o "$scratch/bin/stepcast-gpu.so" "$scratch/old.c" 2>/dev/null; then
  expect 78 'belongs to another version of stepcast' "$alone"
  echo 'int none;' >"$scratch/old.c"
  ${CC:-cc} -shared -fPIC -o "$scratch/bin/stepcast-gpu.so" "$scratch/old.c"
  expect 78 'belongs to another version of stepcast' "$alone"
fi
rm -f "$scratch/bin/stepcast-gpu.so"

"$program" calibrate gpu --dry-run --quick >"$scratch/plan" || complain "--dry-run fails"
tail -n 1 "$scratch/plan" | grep -q '^[0-9]* cells on [0-9]* curves$' || complain "--dry-run lists no cells"

# The makefile: what is left out is said, and what is asked for must be there.
goals() {
  MAKEFLAGS='' make -n "$@" 2>&1
}
goals CUDA=no all | grep -q 'without stepcast-gpu.so: CUDA=no was asked for' ||
  complain "CUDA=no builds, or says, something else"
goals CUDA=auto NVCC= all | grep -q 'without stepcast-gpu.so: no nvcc' || complain "without nvcc nothing says so"
goals CUDA=yes NVCC= all | grep -q 'CUDA=yes, but: no nvcc' || complain "CUDA=yes does without nvcc"
goals CUDA=maybe all | grep -q 'CUDA=maybe: auto, yes or no' || complain "CUDA=maybe is accepted"

if [ -e "$plugin" ]; then
  [ "$(nm -D --defined-only "$plugin" | awk '{ print $3 }')" = stepcast_gpu_plugin ] ||
    complain "the plug-in exports more than its one symbol"
  ! ldd "$plugin" | grep -iE 'libcuda|libcudart|nccl|cublas|nvidia' ||
    complain "the plug-in links what it should open when it needs it"
  if [ ! -e /dev/nvidiactl ]; then
    cp "$plugin" "$scratch/bin/"
    expect 77 'no NVIDIA driver on this machine' "$alone"
    expect 77 'no NVIDIA driver on this machine' "$alone" # nothing lies in the way of a second try
    stub=$(find -L "${CUDA_HOME:-/usr/local/cuda}/lib" "${CUDA_HOME:-/usr/local/cuda}/lib64" \
      -path '*stubs/libcuda.so' 2>/dev/null | head -n 1 || true)
    if [ -n "$stub" ]; then
      mkdir "$scratch/stubs"
      ln -s "$stub" "$scratch/stubs/libcuda.so.1"
      expect 77 'stub libcuda is on the library path' env LD_LIBRARY_PATH="$scratch/stubs" "$alone"
    fi
  fi
  echo "with the plug-in"
else
  echo "without the plug-in, which was not built"
fi
exit $bad
