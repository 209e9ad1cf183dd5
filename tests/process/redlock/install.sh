#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# Installs the packages of npm that package-lock.json names, by version and checksum, into a folder:
#   install.sh FOLDER
# It does nothing if they are there. The tests that need them fail without them.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$1"
cd "$1"
if cmp -s "$here/package-lock.json" installed-lock.json; then exit 0; fi
cp "$here/package.json" "$here/package-lock.json" .
npm ci --ignore-scripts --no-audit --no-fund
cp package-lock.json installed-lock.json
