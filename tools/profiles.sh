#!/bin/sh
# Make the profiles of calibrate/profiles/list.txt from the logs in the tree.
# Usage: tools/profiles.sh PROGRAM FOLDER [NAME...]     default: all of them
set -eu

program=$1
folder=$2
shift 2
wanted=" $* "
list=calibrate/profiles/list.txt
logs=tests/reference/nccl-tests/raw
target=

# The facts are kept as arguments until the first logs come.
use_logs() {
  [ -n "$target" ] || return 0
  options=${1%%:*}
  files=
  for log in ${1#*:}; do
    for file in "$logs"/$log.txt; do
      [ -e "$file" ] || { echo "$list: no log $log" >&2; exit 1; }
      files="$files $file"
    done
  done
  shift
  # Names of logs and options hold no spaces.
  # shellcheck disable=SC2086
  if [ -e "$target" ]; then
    "$program" calibrate import -q --into "$target" $options $files
  else
    echo "  PROFILE $target"
    "$program" calibrate import -q -o "$target" "$@" $options $files
  fi
}

set --
while read -r word rest; do
  case $word in
  profile)
    set --
    target=
    case $wanted in "  " | *" $rest "*) target=$folder/$rest.json ;; esac
    [ -z "$target" ] || rm -f "$target"
    ;;
  date) set -- "$@" --date "$rest" ;;
  fact) set -- "$@" --fact "${rest%% *}=${rest#* }" ;;
  logs) use_logs "$rest" "$@" ;;
  '' | '#'*) ;;
  *) echo "$list: unknown word $word" >&2; exit 1 ;;
  esac
done <"$list"
