#!/bin/sh
# Hold the documents to the program: README names every command and option, its examples
# run and print what it shows, and every scenario is listed and accepted.
# Usage: tests/check-docs.sh [--update]     the latter rewrites the outputs that README shows
set -eu

cd "$(dirname "$0")/.."
program=$PWD/${BUILD:-build}/stepcast
update=${1:-}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
bad=0

complain() {
  echo "$1"
  bad=1
}

commands() {
  "$program" help | sed -n 's/^ *stepcast \([a-z][a-z]*\) .*/\1/p'
}

[ -n "$(commands)" ] || complain "help lists no commands"
subcommands() {
  "$program" calibrate --help | sed -n 's/^  \([a-z][a-z]*\) .*/calibrate \1/p'
}

[ -n "$(subcommands)" ] || complain "calibrate lists no subcommands"
{ commands; subcommands; } >"$scratch/commands"
while read -r command; do
  for document in README.md docs/stepcast.1; do
    sed 's/\\f[BIR]//g' "$document" | grep -q "\b$command\b" || complain "$document: no command '$command'"
    # shellcheck disable=SC2086
    for option in $("$program" $command --help | grep -oE -- '--[a-z][a-z-]+' | sort -u); do
      # The manual page writes a hyphen as \-.
      sed 's/\\-/-/g' "$document" | grep -qF -- "$option" ||
        complain "$document: no option $option ($command)"
    done
  done
done <"$scratch/commands"

# README's shell examples, and the output shown right after one.
mkdir -p "$scratch/tree/build"
cp -r scenarios "$scratch/tree/"
mkdir "$scratch/tree/tests"
ln -s "$PWD/tests/reference" "$scratch/tree/tests/reference"
ln -s "$program" "$scratch/tree/build/stepcast"
awk -v out="$scratch/example" '
  /^```sh$/ { in_sh = 1; next }
  /^```text$/ { in_text = n && NR - ended <= 2; if (in_text) printf "" >(out "." n ".expected"); next }
  /^```$/ { if (in_sh) ended = NR; in_sh = in_text = 0; next }
  in_sh && /^build\/stepcast/ { n++; print >(out "." n ".command") }
  in_text { print >(out "." n ".expected") }
' README.md
n=0
# In their order: later ones use what earlier ones wrote.
while [ -e "$scratch/example.$((n + 1)).command" ]; do
  n=$((n + 1))
  example=$scratch/example.$n
  command=$example.command
  (cd "$scratch/tree" && sh -e "$command") >"$example.actual" 2>"$example.stderr" ||
    complain "README.md: fails: $(cat "$command" "$example.stderr")"
  if [ -e "$example.expected" ] && [ -z "$update" ]; then
    diff -u "$example.expected" "$example.actual" ||
      complain "README.md: prints something else (if that is meant: make golden): $(cat "$command")"
  fi
done
echo "$n examples of README.md"

if [ -n "$update" ]; then
  awk -v out="$scratch/example" '
    /^```sh$/ { in_sh = 1 }
    in_sh && /^build\/stepcast/ { n++ }
    /^```text$/ && n && NR - ended <= 2 {
      print
      while ((getline line <(out "." n ".actual")) > 0)
        print line
      skip = 1
      next
    }
    /^```$/ { if (in_sh) ended = NR; in_sh = skip = 0 }
    !skip
  ' README.md >"$scratch/README.md"
  cmp -s README.md "$scratch/README.md" || { echo "  GOLDEN README.md"; cp "$scratch/README.md" README.md; }
fi

for scenario in scenarios/*.json; do
  grep -qF "$(basename "$scenario")" scenarios/README.md ||
    complain "scenarios/README.md: no line for $(basename "$scenario")"
  "$program" check "$scenario" >"$scratch/check" 2>&1 ||
    complain "$scenario is refused: $(cat "$scratch/check")"
done
exit $bad
