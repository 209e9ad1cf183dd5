#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# How long a compiler takes for a file that includes <dlock/dlock.hpp> and nothing else, beside the floor: a file that
# includes the headers of the standard library that dlock's headers name.
#   bench/compile_time.sh [--rounds N] [--against COMMIT] [folder with the generated dlock/version.hpp]
# User time of the whole compiler, -O0, no cache, no precompiled header; the files take turns, so that a slow moment of the
# machine hits all of them, and the fastest and the median of the rounds are printed. --against: the headers of that
# commit as well, and what the present ones take in proportion to them. Compilers: COMPILERS, else g++ and clang++.
set -euo pipefail
export LC_ALL=C CCACHE_DISABLE=1
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

rounds=15 against='' generated=$root/build/release/include
while [ $# -gt 0 ]; do
  case $1 in
    --rounds) rounds=$2; shift 2 ;;
    --against) against=$2; shift 2 ;;
    *) generated=$1; shift ;;
  esac
done
[ -f "$generated/dlock/version.hpp" ] || { echo "compile_time: no dlock/version.hpp below $generated" >&2; exit 2; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo '#include <dlock/dlock.hpp>' >"$work/dlock.cpp"
if [ -n "$against" ]; then
  mkdir "$work/before"
  git -C "$root" archive "$against" include | tar -x -C "$work/before"
  cp "$work/dlock.cpp" "$work/before.cpp"
fi

standard_headers() { # compiler: those that the headers of ours behind dlock.hpp name
  "$1" -std=c++20 -I "$root/include" -I "$generated" -MM "$work/dlock.cpp" | tr -s ' \\' '\n' | grep '/dlock/' |
    xargs grep -hoE '^#include <[a-z_]+>' | sort -u
}
user_time() { # compiler file
  local include=$root/include TIMEFORMAT=%U
  if [ "$2" = before ]; then include=$work/before/include; fi
  { time "$1" -std=c++20 -O0 -I "$include" -I "$generated" -c -o /dev/null "$work/$2.cpp" 2>"$work/errors" ||
    { cat "$work/errors" >&3; exit 1; }; } 3>&2 2>&1
}

for compiler in ${COMPILERS:-g++ clang++}; do
  command -v "$compiler" >/dev/null || continue
  standard_headers "$compiler" >"$work/floor.cpp"
  rm -f "$work"/*.times
  for ((round = 0; round < rounds; round++)); do
    for file in dlock floor ${against:+before}; do user_time "$compiler" "$file" >>"$work/$file.times"; done
  done
  printf '%s\n' "$("$compiler" --version | sed 1q), $rounds rounds, user time in seconds   fastest  median"
  for file in floor dlock ${against:+before}; do
    case $file in
      floor) label="$(wc -l <"$work/floor.cpp") headers of the standard library" ;;
      dlock) label='<dlock/dlock.hpp>' ;;
      before) label="the same at $against" ;;
    esac
    sort -n "$work/$file.times" | awk -v label="$label" '{ t[NR] = $1 }
      END { printf "  %-70s %8.3f %7.3f\n", label, t[1], t[int((NR + 1) / 2)] }'
  done
  if [ -n "$against" ]; then
    paste <(sort -n "$work/dlock.times") <(sort -n "$work/before.times") | awk '{ a[NR] = $1; b[NR] = $2 }
      END { m = int((NR + 1) / 2); printf "  %-70s %8.2f %7.2f\n", "in proportion", a[1] / b[1], a[m] / b[m] }'
  fi
done
