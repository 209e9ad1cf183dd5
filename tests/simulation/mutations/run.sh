#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# Shows that the simulation finds mistakes of the engine: each *.patch in this folder makes one in a copy of a source file, which is
# compiled and linked in the place of the library's. A run of the simulator must fail then.
#   run.sh <build folder> [--apply-only] [name...]     MUTATION_SEEDS (default 4000): each is looked for in seeds 1 to that
# After its first line a patch may say
#   Kinds: ...     only these kinds of stores are run, where only they show the mistake
#   About: ...     runs are about that alone (./dev simulate --about)
#   Built in: ...  the sources of the simulator that include the header which it changes
# First the simulator runs without a mistake: it must find nothing (MUTATION_CONTROL_SEEDS, default 100). Without names the mistakes
# of the simulated tables (--mistake) are looked for too, and the first seeds and the commit are written to the page that
# MUTATION_TABLE names. One line for each; exit code 1 if one was not found, or does not apply any more.
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
seeds=1..${MUTATION_SEEDS:-4000}  # not a time: what is found must not depend on how busy the machine is
longest=7200                       # seconds, of a run that does not end
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

names=("$@")
tables=()
page=
if [ ${#names[@]} = 0 ]; then
  for each in "$here"/*.patch; do names+=("$(basename "$each" .patch)"); done
  if [ -z "$apply_only" ]; then page=${MUTATION_TABLE:-}; fi  # figures of one commit
  mapfile -t tables < <(sed -n 's/.*mistake_name{mistake::[a-z_]*, "\([a-z_]*\)"[,}].*/\1/p' "$here/../mistakes.hpp")
fi

mutate() { # patch: leaves the copy of the source below $work/tree, and its path in $source
  source=$(sed -n 's|^+++ b/||p' "$1")
  rm -rf "$work/tree"
  mkdir -p "$work/tree/$(dirname "$source")"
  cp "$root/$source" "$work/tree/$source"
  (cd "$work/tree" && GIT_CEILING_DIRECTORIES=$work git apply -p1 --recount "$1")
}
compile() { # path of the source, number: the mutated object in $work/mutated.N.o
  local command from=$work/tree/$1
  if [ ! -e "$from" ]; then from=$root/$1; fi # it includes a header that is mutated
  command=$(awk -v file="$root/$1" '/"command":/ { line = $0 } index($0, "\"file\": \"" file "\"") { print line; exit }' \
    "$build/compile_commands.json" | sed -E 's/^ *"command": "//; s/",?$//; s/\\"/"/g')
  [ -n "$command" ] || { echo "no command compiles $1" >&2; return 1; }
  command=${command%% -o *}
  (cd "$build" && eval "${command/ -I/ -I$work/tree/src -I} -w -O1 -c '$from' -o '$work/mutated.$2.o'")
}
compile_all() { # name, path of the source that it changes
  local each number=0
  rm -f "$work"/mutated.*.o
  for each in $(field_of "$1" 'Built in' "$2"); do
    compile "$each" $((++number)) || return
  done
}
link() {
  local command
  command=$(ninja -C "$build" -t commands dlock_simulate | tail -n 1)
  # The mutated object comes first, so its functions count where the linker needs the library's own object as well.
  command=${command/ -o tests\/dlock_simulate / "$work"/mutated.*.o -Wl,-z,muldefs -o "$work/simulate" }
  (cd "$build" && eval "${command#*&& }")
}

row() { # name, result, which table of the page, what is wrong
  if [ -z "$page" ]; then return; fi
  if grep -q "^| \`$1\` |" "$page"; then
    sed -i "s/^\(| \`$1\` | .* | \)[^|]* |\$/\1$2 |/" "$page"
  else
    sed -i "/^| of the $3 |/{n;a | \`$1\` | $4 | $2 |
}" "$page"
  fi
}
title_of() { head -n 1 "$here/$1.patch" | sed 's/\.$//; s/^./\L&/'; }
field_of() { # name, field, what it is if the patch does not say it
  local said
  said=$(sed -n "/^--- /q; s/^$2: //p" "$here/$1.patch")
  echo "${said:-${3:-}}"
}
meaning_of() { sed -n "s|^ *$1, *///< *||p" "$here/../mistakes.hpp"; }
seed_of() { sed -n 's/^seed \([0-9]*\) fails.*/\1/p' "$work/out" | head -n 1; }

if [ -z "$apply_only" ]; then
  if ! timeout 600 "$build/tests/dlock_simulate" --seeds "1..${MUTATION_CONTROL_SEEDS:-100}" --quiet >"$work/out" 2>&1; then
    echo "without a mistake the simulator fails too: $(head -n 1 "$work/out")" >&2
    exit 1
  fi
fi

failures=0
if [ -z "$apply_only" ]; then
  for name in "${tables[@]}"; do
    if timeout $longest "$build/tests/dlock_simulate" --mistake "$name" --seeds "$seeds" --quiet >"$work/out" 2>&1 ||
      [ -z "$(seed_of)" ]; then
      printf '%-28s NOT FOUND: %s\n' "$name" "$(head -n 1 "$work/out")"
      row "$name" "not found" tables "$(meaning_of "$name")"
      failures=$((failures + 1))
    else
      printf '%-28s %s\n' "$name" "$(head -n 1 "$work/out")"
      about=$(sed -n "s/.*\"$name\", subject::\([a-z]*\)}.*/\1/p" "$here/../mistakes.hpp")
      row "$name" "$(seed_of)${about:+ about $about}" tables "$(meaning_of "$name")"
    fi
  done
fi
for name in "${names[@]}"; do
  patch=$here/$name.patch
  if ! mutate "$patch" 2>"$work/log"; then
    printf '%-28s does not apply: %s\n' "$name" "$(head -n 1 "$work/log")"
    failures=$((failures + 1))
    continue
  fi
  if [ -n "$apply_only" ]; then continue; fi
  if ! { compile_all "$name" "$source" && link; } >"$work/log" 2>&1; then
    printf '%-28s does not build: %s\n' "$name" "$(grep -m 1 -E 'error|undefined' "$work/log" || tail -n 1 "$work/log")"
    failures=$((failures + 1))
    continue
  fi
  code=0
  kinds=$(field_of "$name" Kinds)
  about=$(field_of "$name" About)
  timeout $longest "$work/simulate" --seeds "$seeds" ${kinds:+--only $kinds} ${about:+--about $about} --progress "$work/at" --quiet >"$work/out" 2>&1 || code=$?
  case $code in
    0)
      printf '%-28s NOT FOUND: %s\n' "$name" "$(head -n 1 "$work/out")"
      row "$name" "not found" engine "$(title_of "$name")"
      failures=$((failures + 1))
      ;;
    1 | 134 | 136 | 139)
      # A violation that the simulator reports, a thread that never waits, or a crash of the engine under a seed.
      seed=$(seed_of)
      if [ "$code" = 1 ] && [ -z "$seed" ]; then
        printf '%-28s NOT FOUND, the simulator could not run: %s\n' "$name" "$(head -n 1 "$work/out")"
        failures=$((failures + 1))
      elif [ "$code" = 1 ]; then
        printf '%-28s %s\n' "$name" "$(head -n 1 "$work/out")"
        if grep -q 'busy for' "$work/out"; then seed="$seed (busy loop)"; fi
        row "$name" "$seed${kinds:+ of $kinds}${about:+ about $about}" engine "$(title_of "$name")"
      else
        printf '%-28s seed %s ends the program (%s)\n' "$name" "$(cat "$work/at")" "$code"
        row "$name" "$(cat "$work/at")${kinds:+ of $kinds}${about:+ about $about} (crash)" engine "$(title_of "$name")"
      fi
      ;;
    *)
      printf '%-28s NOT FOUND, the simulator could not run (%s)\n' "$name" "$code"
      failures=$((failures + 1))
      ;;
  esac
done
if [ -n "$page" ]; then
  commit=$(git -C "$root" rev-parse --short HEAD)
  sed -i "s/^Measured [^.]*\./Measured at commit $commit./" "$page"
fi
[ $failures = 0 ]
