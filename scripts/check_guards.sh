#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# check_guards.sh <clang++> <build folder>: that what a mutex guards (DLOCK_GUARDED_BY, src/base/mutex.hpp) is used only while
# it is locked. g++ can't tell, so clang looks at each file of src/ that this build compiles, with the build's own flags.
# They are in the folder's compile_commands.json, and what is generated must be there already.
# Prints clang's warnings; exit code 1 when there is one.
set -euo pipefail
export LC_ALL=C
clang=$1
commands=$2/compile_commands.json
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$(pwd)

room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
warnings=(-std=c++20 -Wno-everything -Wthread-safety -Werror=thread-safety)

# What nearly every file includes, once: most of the time goes there.
for header in atomic algorithm array chrono condition_variable functional map memory mutex optional span stop_token string \
  string_view thread utility vector; do
  echo "#include <$header>"
done >"$room/common.hpp"
"$clang" -x c++-header "${warnings[@]}" "$room/common.hpp" -o "$room/common.pch"

# For each file one line: it, and its flags.
sed -nE 's/^ *"command": "(.*)",?$/\1/p' "$commands" | awk -v root="$root/src/" '
  { file = $NF
    if (index(file, root) != 1) next
    flags = ""
    for (i = 1; i < NF; i++) {
      if ($i ~ /^-[DI]/) flags = flags " " $i
      if ($i == "-isystem") flags = flags " -isystem " $(i + 1)
    }
    print file flags }' | sort -u >"$room/files"
if ! [ -s "$room/files" ]; then
  echo "check_guards: $commands names no file of src/" >&2
  exit 1
fi
# xargs says 123 when one of them fails.
if ! xargs -a "$room/files" -P "${DLOCK_JOBS:-$(nproc)}" -L 1 \
  "$clang" -fsyntax-only "${warnings[@]}" -include-pch "$room/common.pch"; then
  echo "check_guards: see the warnings above; src/base/mutex.hpp has the annotations" >&2
  exit 1
fi
