#!/bin/sh
# Fail on what CONTRIBUTING.md forbids and a search can find.
# Usage: tests/check-words.sh
set -eu

cd "$(dirname "$0")/.."
self=tests/check-words.sh
bad=0

program=$(find models sim calibrate -name '*.[ch]' | sort)
all=$(find . -name .git -prune -o -name 'build*' -type d -prune -o -type f \
  \( -name '*.[ch]' -o -name '*.sh' -o -name '*.md' -o -name Makefile -o -name '*.json' \) \
  -print | sed 's,^\./,,' | grep -v "^$self\$" | sort)

# ban FILES PATTERN WHY
ban() {
  # shellcheck disable=SC2086
  if grep -nE -- "$2" $1 /dev/null; then
    echo "  ^ $3"
    bad=1
  fi
}
# Everything of $program but the files that match $1.
program_without() {
  printf '%s\n' "$program" | grep -vE "$1" || true
}

ban "$all" '\b(TODO|FIXME|XXX|HACK)\b' 'finish it, or file it'
ban "$program" '^[[:space:]]*#[[:space:]]*if 0' 'dead code is deleted'
ban "$all" '(^|[^[:alnum:].])(/work/|/tmp/|\.\./shared|/home/|/root/)' 'a path that others do not have'

ban "$(program_without '^sim/main\.c$')" '\b(v?f?printf|puts|fputs|putchar|g_print|perror)\(' \
  'only sim/main.c talks'
ban "$(program_without '^sim/main\.c$')" '\b(exit|abort)\(' \
  'only sim/main.c ends the program'
ban "$(program_without '^sim/main\.c$')" '\b(getenv|g_getenv|setlocale)\(' \
  'only sim/main.c reads the environment'
ban "$(printf '%s\n' "$program" | grep '^models/')" \
  '\b(fopen|g_file_get_contents|g_file_set_contents|time|clock|clock_gettime|g_get_monotonic_time|g_get_real_time)\(' \
  'models read no files and no clocks'
ban "$program" '\b(rand|random|srand|drand48|g_random_[a-z_]+)\(' 'use rng_stream()'
ban "$program" '\bcJSON_GetObjectItem\(' 'cJSON_GetObjectItemCaseSensitive'
# document.c hands it single values that its own grammar has accepted.
ban "$(program_without '^sim/scenario/document\.c$')" '\bcJSON_Parse\(' 'documents_parse()'
ban "$(printf '%s\n' "$program" | grep '\.h$')" '\b(gint|gchar|gdouble|gboolean|gfloat)\b' \
  "C's own types in our interfaces"
ban "$program" '\b(strtod|strtof|atof|atoi|sscanf)\(' 'depends on the locale, or hides errors'
ban "$program" '__attribute__\(\(constructor' 'modules are listed in explicit tables'

for file in $program; do
  lines=$(wc -l <"$file")
  if [ "$lines" -gt 500 ]; then
    echo "$file: $lines lines; over 500 is a design question"
    bad=1
  fi
  case $(basename "$file") in
    util.* | utils.* | misc.* | common.* | helpers.*)
      echo "$file: name it after what it holds"
      bad=1
      ;;
  esac
done
exit $bad
