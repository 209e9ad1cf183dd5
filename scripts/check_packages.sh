#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# Installs the packages of ./dev package in systems in which nothing was ever installed, and uses them there.
#   scripts/check_packages.sh debian12|debian13|ubuntu2404 [folder]
# The folder has packages that were made on that release; without it `./dev clean-root <release> package` makes them first.
#   1. From a bare system to `dlock run` on SQLite: it must take a minute at most, with apt's downloads.
#   2. A program that uses SQLite alone: pkg-config and find_package compile it, and no other store's client is installed.
#   3. An annotated class: dlock_generate() and the program run with what the packages bring, and nothing of clang's beside it.
#   4. A mapped class: dlock_odb_generate() and the program that locks its rows.
# Needs root, as scripts/clean_root.sh.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
say() { printf 'check-packages: %s\n' "$*" >&2; }

release=${1:-}
folder=${2:-}
case $release in debian12 | debian13 | ubuntu2404) ;; *) say "usage: $0 debian12|debian13|ubuntu2404 [folder]"; exit 2 ;; esac
if [ -z "$folder" ]; then
  "$root/scripts/clean_root.sh" "$release" package
  folder=${DLOCK_CLEAN_ROOT:-${DLOCK_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/dlock}/$release}/dlock/build/package/packages
fi
[ -e "$folder/Packages" ] || { say "$folder has no packages"; exit 1; }
for step in command program generator rows; do
  DLOCK_CLEAN_FOLDER=$(realpath "$folder") "$root/scripts/clean_root.sh" --fresh "$release" tests/package/installed.sh "$step"
done
say "passed on $release"
