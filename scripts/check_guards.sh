#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# check_guards.sh <clang++> <build folder>: that what a mutex guards (DLOCK_GUARDED_BY, src/base/mutex.hpp) is used only while
# it is locked. g++ can't tell, so clang looks at each file of src/ that this build compiles and that can know of such a mutex,
# with the build's own flags. They are in the folder's compile_commands.json, and what is generated must be there already.
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

# All that reads base/mutex.hpp, itself or by what it includes: nothing else has anything to guard.
echo base/mutex.hpp >"$room/known"
while
  sed 's/.*/#include "&"/' "$room/known" >"$room/includes"
  { cat "$room/known"; grep -rlF -f "$room/includes" src | sed 's,^src/,,'; } | sort -u >"$room/more"
  ! cmp -s "$room/known" "$room/more"
do mv "$room/more" "$room/known"; done

# The sources, also those that the build compiles together, in one line for each: itself, and its flags.
sed -nE 's/^ *"command": "(.*)",?$/\1/p' "$commands" | awk -v root="$root/src/" '
  function add(file) { if (index(file, root) == 1 && (substr(file, length(root) + 1) in known)) print file flags }
  NR == FNR { known[$0]; next }
  { flags = ""
    for (i = 1; i < NF; i++) {
      if ($i ~ /^-[DI]/) flags = flags " " $i
      if ($i == "-isystem") flags = flags " -isystem " $(i + 1)
    }
    if ($NF !~ /\/Unity\/unity_[^\/]*$/) { add($NF); next }
    while ((getline line < $NF) > 0) if (split(line, part, "\"") == 3) add(part[2])
    close($NF) }' "$room/known" - | sort -u >"$room/sources"

# Those of one folder with the same flags together: clang reads what they include once.
awk -v room="$room" '
  { file = $1; sub(/[^ ]* ?/, ""); folder = file; sub(/\/[^\/]*$/, "", folder)
    if (!((folder $0) in unity)) {
      unity[folder $0] = room "/" ++count ".cpp"
      print unity[folder $0], $0
    }
    printf "#include \"%s\"\n", file >unity[folder $0] }' "$room/sources" >"$room/files"

# What nearly every file includes, once: most of the time goes there.
service=$(sed -n "s,^$root/src/engine/core/service_core\.cpp ,,p" "$room/sources")
if [ -z "$service" ]; then
  echo "check_guards: $commands has no file of src/engine" >&2
  exit 1
fi
for header in atomic algorithm array chrono condition_variable functional map memory mutex optional span stop_token string \
  string_view thread utility vector fmt/format.h dlock/dlock.hpp dlock/store_interface/store_admin.hpp base/mutex.hpp; do
  echo "#include <$header>"
done >"$room/common.hpp"
# shellcheck disable=SC2086
"$clang" -x c++-header "${warnings[@]}" $service "$room/common.hpp" -o "$room/common.pch"

# xargs says 123 when one of them fails.
if ! xargs -a "$room/files" -P "${DLOCK_JOBS:-$(nproc)}" -L 1 \
  "$clang" -fsyntax-only "${warnings[@]}" -include-pch "$room/common.pch"; then
  echo "check_guards: see the warnings above; src/base/mutex.hpp has the annotations" >&2
  exit 1
fi
