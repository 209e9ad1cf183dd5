#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Shows that the simulation finds mistakes of the engine: each *.patch in this folder makes one in a copy of a source file, which is
# compiled and linked in the place of the library's. A run of the simulator must fail then.
#   run.sh <build folder> [--apply-only] [name...]     MUTATION_SECONDS (default 120): how long each is looked for
# One line for each; exit code 1 if one was not found, or does not apply any more.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
build=$(cd "$1" && pwd)
shift
apply_only=
if [ "${1:-}" = --apply-only ]; then
  apply_only=1
  shift
fi
seconds=${MUTATION_SECONDS:-120}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

names=("$@")
if [ ${#names[@]} = 0 ]; then
  for each in "$here"/*.patch; do names+=("$(basename "$each" .patch)"); done
fi

mutate() { # patch: leaves the copy of the source below $work/tree, and its path in $source
  source=$(sed -n 's|^+++ b/||p' "$1")
  rm -rf "$work/tree"
  mkdir -p "$work/tree/$(dirname "$source")"
  cp "$root/$source" "$work/tree/$source"
  (cd "$work/tree" && GIT_CEILING_DIRECTORIES=$work git apply -p1 --recount "$1")
}
compile() { # path of the source: the mutated object in $work/mutated.o
  local command
  command=$(awk -v file="$root/$1" '/"command":/ { line = $0 } index($0, "\"file\": \"" file "\"") { print line; exit }' \
    "$build/compile_commands.json" | sed -E 's/^ *"command": "//; s/",?$//; s/\\"/"/g')
  [ -n "$command" ] || { echo "no command compiles $1" >&2; return 1; }
  command=${command%% -o *}
  (cd "$build" && eval "$command -w -O1 -c '$work/tree/$1' -o '$work/mutated.o'")
}
link() {
  local command
  command=$(ninja -C "$build" -t commands dlock_simulate | tail -n 1)
  command=${command/ -o tests\/dlock_simulate / "$work/mutated.o" -o "$work/simulate" }
  (cd "$build" && eval "${command#*&& }")
}

failures=0
for name in "${names[@]}"; do
  patch=$here/$name.patch
  if ! mutate "$patch" 2>"$work/log"; then
    printf '%-28s does not apply: %s\n' "$name" "$(head -n 1 "$work/log")"
    failures=$((failures + 1))
    continue
  fi
  if [ -n "$apply_only" ]; then continue; fi
  if ! { compile "$source" && link; } >"$work/log" 2>&1; then
    printf '%-28s does not build: %s\n' "$name" "$(grep -m 1 -E 'error|undefined' "$work/log" || tail -n 1 "$work/log")"
    failures=$((failures + 1))
    continue
  fi
  code=0
  timeout $((seconds + 60)) "$work/simulate" --seconds "$seconds" --progress "$work/at" --quiet >"$work/out" 2>&1 || code=$?
  case $code in
    0)
      printf '%-28s NOT FOUND: %s\n' "$name" "$(head -n 1 "$work/out")"
      failures=$((failures + 1))
      ;;
    1) printf '%-28s %s\n' "$name" "$(head -n 1 "$work/out")" ;;
    124) printf '%-28s seed %s never ends\n' "$name" "$(cat "$work/at")" ;;
    *) printf '%-28s seed %s ends the program (%s)\n' "$name" "$(cat "$work/at")" "$code" ;;
  esac
done
[ $failures = 0 ]
