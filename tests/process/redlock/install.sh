#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# Installs the packages of npm that package-lock.json names, by version and checksum, into a folder:
#   install.sh FOLDER           fetches them unless they are there; ./dev does it before it runs the tests
#   install.sh --check FOLDER   only looks, without a network; the tests do it
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
check=
if [ "$1" = --check ]; then check=yes; shift; fi
if cmp -s "$here/package-lock.json" "$1/installed-lock.json"; then exit 0; fi
if [ -n "$check" ]; then
  echo "the packages of npm are missing; this fetches them: $here/install.sh $1" >&2
  exit 1
fi
mkdir -p "$1"
cd "$1"
cp "$here/package.json" "$here/package-lock.json" .
npm ci --ignore-scripts --no-audit --no-fund
cp package-lock.json installed-lock.json
