#!/bin/sh
# Install the packages of tools/packages.txt that are missing; silent if none is.
# Usage: tools/setup.sh
set -eu

here=$(dirname "$0")

if ! command -v dpkg-query >/dev/null; then
  echo "setup: not a Debian system; please provide what $here/packages.txt lists" >&2
  exit 0
fi

missing=
for package in $(sed 's/#.*//' "$here/packages.txt"); do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) || status=absent
  [ "$status" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -eq 0 ]; then
  as_root='env'
elif command -v sudo >/dev/null; then
  as_root="sudo env"
else
  echo "setup: neither root nor sudo; as root, run: apt-get install -y$missing" >&2
  exit 1
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT

apt() {
  $as_root DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120 "$@" \
    >"$log" 2>&1
}

echo "setup: installing with apt-get:$missing"
# A machine whose package lists are absent or old fails at first.
# shellcheck disable=SC2086
apt install -y --no-install-recommends $missing ||
  { apt update && apt install -y --no-install-recommends $missing; } ||
  { cat "$log" >&2; echo "setup: apt-get failed; its words are above" >&2; exit 1; }
echo "setup: done"
