#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# Makes Debian packages of what was built, and gathers in the same folder what this release of the distribution lacks.
#   scripts/package.sh <build folder of the preset package>
# The packages fit the release that they were built on, since the versions of other libraries differ between releases.
# Debian 12 has no libraries of ODB. scripts/setup.sh takes them from bullseye, and this script fetches the same packages,
# so that a machine without that suite can install the folder as it is: the runtime for programs, and the files for
# development for users who map classes.
set -euo pipefail
export LC_ALL=C
build=$1
packages=$build/packages
say() { printf 'package: %s\n' "$*" >&2; }

rm -rf "$packages"
(cd "$build" && cpack -G DEB) >"$build/package.log" 2>&1 || { cat "$build/package.log" >&2; say "cpack failed"; exit 1; }
if compgen -G '/etc/apt/sources.list.d/dlock.*' >/dev/null; then
  mapfile -t lacking < <(for each in "$packages"/*.deb; do dpkg-deb -f "$each" Depends; done |
    tr ',' '\n' | sed -nE 's/^ *(libodb[^ ]*).*/\1/p' | sort -u)
  if [ ${#lacking[@]} -gt 0 ]; then
    lacking+=(libodb-dev libodb-mysql-dev libodb-sqlite-dev)
    say "fetching ${lacking[*]}"
    # apt's own user, who fetches, may not be able to write here.
    (cd "$packages" && apt-get -qq -o APT::Sandbox::User=root download "${lacking[@]}") ||
      { say "apt can't fetch ${lacking[*]}, which this release lacks"; exit 1; }
  fi
fi
rm -rf "$packages/_CPack_Packages"
# With this list apt reads the folder as a source of packages: `apt install dlock-tools` takes what that one needs, and nothing more.
(cd "$packages" && dpkg-scanpackages --multiversion . /dev/null >Packages 2>/dev/null)
say "made $(cd "$packages" && find . -name '*.deb' | wc -l) packages in $packages"
