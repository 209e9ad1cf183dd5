#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# Runs a verb of ./dev in a system that has nothing installed yet: ./dev setup must install all that is missing there.
#   scripts/clean_root.sh debian12|debian13|ubuntu2404 [verb [argument...]]      the verb is "demo" unless you name one
#   scripts/clean_root.sh --fresh debian12|debian13|ubuntu2404 command...        a command in this tree, and not a verb
# Makes a minimal system by debootstrap, copies the tracked files of this tree into it, and runs ./dev there in a chroot with
# namespaces of its own. Debian comes from the mirror that apt uses here, Ubuntu from $DLOCK_UBUNTU_MIRROR (default:
# http://archive.ubuntu.com/ubuntu). Needs root, and installs the package debootstrap. The system stays for the next run in
# $DLOCK_CLEAN_ROOT (default: ~/.cache/dlock/<name>); remove that folder to begin with nothing again. With --fresh each run has a
# copy of a system in which nothing was ever installed, and the copy is removed at the end.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
say() { printf 'clean-root: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

fresh=
if [ "${1:-}" = --fresh ]; then
  fresh=-bare
  shift
fi
case ${1:-} in
  debian12) suite=bookworm ;;
  debian13) suite=trixie ;;
  ubuntu2404) suite=noble ;;
  *) say "usage: $0 debian12|debian13|ubuntu2404 [verb [argument...]]"; exit 2 ;;
esac
name=$1
shift
if [ $# = 0 ]; then set -- demo; fi
if [ -z "$fresh" ]; then set -- ./dev "$@"; fi
[ "$(id -u)" = 0 ] || die "needs root, for chroot"
command -v debootstrap >/dev/null ||
  { apt-get -qq update && apt-get -qq -y --no-install-recommends install debootstrap; } >/dev/null 2>&1 ||
  die "debootstrap is missing, and apt could not install it"

system=${DLOCK_CLEAN_ROOT:-${DLOCK_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/dlock}/$name$fresh}
options=(--variant=minbase --include=ca-certificates)
if [ "$suite" = noble ]; then
  mirror=${DLOCK_UBUNTU_MIRROR:-http://archive.ubuntu.com/ubuntu}
  keyring=/usr/share/keyrings/ubuntu-archive-keyring.gpg
  # debootstrap may be older than the release; the recipe is the same for all releases of Ubuntu.
  recipe=/usr/share/debootstrap/scripts/gutsy
  # Some of what dlock needs stands in universe.
  options+=(--components=main,universe "--keyring=$keyring")
else
  # The first Debian mirror that apt knows.
  mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 2>/dev/null |
    grep -E '/debian/?$' | head -n 1) || true
  mirror=${mirror:-http://deb.debian.org/debian}
  keyring=
  recipe=
fi

if [ ! -e "$system/.dlock-ready" ]; then
  if [ -n "$keyring" ] && [ ! -e "$keyring" ]; then
    apt-get -qq -y --no-install-recommends install ubuntu-keyring >"$system.log" 2>&1 ||
      die "the keys of Ubuntu's archive are missing, and apt has no package ubuntu-keyring; see $system.log"
  fi
  rm -rf --one-file-system "$system"
  mkdir -p "$system"
  say "making $suite from $mirror in $system"
  # shellcheck disable=SC2086 # no recipe, no argument
  debootstrap "${options[@]}" "$suite" "$system" "$mirror" $recipe >"$system.log" 2>&1 ||
    { tail -n 20 "$system.log" >&2; die "debootstrap failed; its log is $system.log"; }
  touch "$system/.dlock-ready"
fi

if [ -n "$fresh" ]; then
  copy=$(mktemp -d "$system.XXXXXX")
  trap 'rm -rf --one-file-system "$copy"' EXIT
  cp -a --reflink=auto "$system/." "$copy"
  system=$copy
fi

mkdir -p "$system/dlock"
# Only what git tracks, as it is in the working tree; the build folder of an earlier run stays.
(cd "$root" && git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
  if [ -e "$file" ]; then printf '%s\0' "$file"; fi
done | tar --null -T - -cf -) | tar -C "$system/dlock" -xf -
cp /etc/resolv.conf "$system/etc/resolv.conf" 2>/dev/null || true
cp /etc/hosts "$system/etc/hosts" 2>/dev/null || true

say "$* in $suite"
code=0
unshare --mount --pid --ipc --uts --fork --kill-child -- bash -c '
  set -e
  system=$1; shift
  mount --make-rprivate /
  mount -t proc proc "$system/proc"
  mount --rbind /dev "$system/dev"
  mount -t tmpfs -o size=8g tmpfs "$system/tmp"
  # A folder of this machine that the command reads.
  if [ -n "${DLOCK_CLEAN_FOLDER:-}" ]; then
    mkdir -p "$system/packages"
    mount --bind "$DLOCK_CLEAN_FOLDER" "$system/packages"
  fi
  exec chroot "$system" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
    DLOCK_JOBS="${DLOCK_JOBS:-}" DLOCK_MYSQL9="${DLOCK_MYSQL9:-}" CXX="${CXX:-}" CI="${CI:-}" \
    bash -c "for name in DLOCK_JOBS DLOCK_MYSQL9 CXX CI; do [ -n \"\${!name}\" ] || unset \"\$name\"; done; cd /dlock && exec \"\$@\"" clean-root "$@"
' clean-root "$system" "$@" || code=$?
exit "$code"
