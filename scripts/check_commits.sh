#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# The subject of a commit has at most 72 characters. Older commits than the one below may be longer. Checks nothing in a
# tree without that commit, such as a tarball or a shallow clone.
# Prints each offence as commit: subject; exit code 1 when there is one. DLOCK_COMMITS_SINCE: another first commit.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
cd "$root"
since=${DLOCK_COMMITS_SINCE:-be5f0195c77513dd117f2c7664aafc5b8a43c380}

# A tarball may lie within a repository of somebody else.
[ "$(git rev-parse --show-toplevel 2>/dev/null || true)" = "$root" ] || exit 0
git merge-base --is-ancestor "$since" HEAD 2>/dev/null || exit 0
if git log --no-merges --format='%h: %s' "$since..HEAD" | LC_ALL=C.UTF-8 grep -E '^[0-9a-f]+: .{73,}'; then
  echo "check_commits: subjects of more than 72 characters" >&2
  exit 1
fi
