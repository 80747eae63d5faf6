#!/bin/sh
# Prove README's two commands on a Debian 12 that has nothing but its base: make such a
# system in a temporary folder, put a clone of HEAD into it, run the commands, report.
# Usage: tests/proof/bare-debian.sh        as root; needs git and debootstrap
#
# The package mirrors are those that this machine's apt uses. The bare system has no sudo
# and its user is root, so "sudo " is taken off the commands.
set -eu

cd "$(dirname "$0")/../.."
[ "$(id -u)" -eq 0 ] || { echo "bare-debian: needs root, for chroot" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "bare-debian: apt-get install debootstrap" >&2; exit 1; }
release=bookworm

work=$(mktemp -d)
root=$work/root

leave() {
  status=$?
  trap - EXIT
  for mounted in dev/pts dev proc; do
    ! mountpoint -q "$root/$mounted" || umount "$root/$mounted" || umount -l "$root/$mounted"
  done
  # Never remove what may still be mounted from outside.
  if mount | grep -q " $work/"; then
    echo "bare-debian: left $work: something is still mounted there" >&2
  else
    rm -rf "$work"
  fi
  exit $status
}
trap leave EXIT
trap 'exit 130' INT TERM

mirrors() {
  apt-get indextargets --format "\$(REPO_URI) \$(RELEASE) \$(COMPONENT)" \
    "Identifier: Packages" | awk -v r="$release" '$2 ~ "^" r "(-|$)" && $3 == "main"'
}
now() { date +%s; }

mirror=$(mirrors | awk -v r="$release" '$2 == r { print $1; exit }')
[ -n "$mirror" ] || { echo "bare-debian: apt here knows no $release; apt-get update?" >&2; exit 1; }

began=$(now)
echo "bare-debian: making a bare $release"
debootstrap --variant=minbase "$release" "$root" "$mirror" >"$work/debootstrap.log" 2>&1 || {
  tail "$work/debootstrap.log" >&2
  exit 1
}
mirrors | sed 's/^/deb /' >"$root/etc/apt/sources.list"
apt-config dump Acquire | grep -E '::(Proxy|Check-Valid-Until|Check-Date)' \
  >"$root/etc/apt/apt.conf.d/50host" || true
cp /etc/resolv.conf "$root/etc/resolv.conf"
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
mount -t devpts devpts "$root/dev/pts"
git clone -q --no-local . "$root/stepcast"
rm -rf "$root/stepcast/.git"
echo "bare-debian: made in $(($(now) - began)) s; $(chroot "$root" dpkg-query -W | wc -l) packages;" \
  "gcc: $(chroot "$root" sh -c 'command -v gcc || echo none')," \
  "make: $(chroot "$root" sh -c 'command -v make || echo none')"

# README's first shell block: one command a line.
awk '/^```sh$/ { on = 1; next } /^```$/ && on { exit } on' README.md | grep -v '^cd\|^git' \
  >"$work/commands"
while read -r command; do
  bare=$(printf '%s' "$command" | sed 's/\bsudo //g')
  began=$(now)
  echo "bare-debian: \$ $bare"
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb \
    chroot "$root" sh -c "cd /stepcast && $bare" </dev/null >"$work/out" 2>&1 || {
    tail -n 60 "$work/out"
    echo "bare-debian: FAILED after $(($(now) - began)) s" >&2
    exit 1
  }
  tail -n "${TAIL:-25}" "$work/out"
  echo "bare-debian: ok in $(($(now) - began)) s"
done <"$work/commands"
