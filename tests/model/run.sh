#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# Checks the models in this folder by Spin (package spin), one line for each run: what was expected, the states, the time.
#   tests/model/run.sh [NAME...]     all runs, or those named
#   holds   no state of the model breaks a property
#   part    too large for that: no error in the states that were visited in PART seconds (default 10)
#   fails   a mistake is planted by -D, and Spin finds it
# Exit code 1 if a run is not as expected; its last steps are printed.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

runs() {
  sed '/^#/d; /^$/d' <<'LIST'
# wake.pml: one key, the waiter table
polling          holds wake   -DWAKE=0 -DN=3 -DSTALLS=1
polling_killed   holds wake   -DWAKE=0 -DN=3 -DCRASHES=1
polling_again    holds wake   -DWAKE=0 -DROUNDS=2 -DSTALLS=1 -DCRASHES=1
wake_only        holds wake   -DPOLLS=0 -DROUNDS=2
wake_leaves      holds wake   -DPOLLS=0 -DLEAVES=1
wake_lost        holds wake   -DLOSE=1 -DCRASHES=1
wake_expiry      holds wake   -DLOSE=1 -DSTALLS=1
wake_three       part  wake   -DPOLLS=0 -DN=3 -DLEAVES=1
fifo_lost        holds wake   -DFIFO=1 -DLOSE=1 -DCRASHES=1
fifo_again       holds wake   -DFIFO=1 -DAGAIN=1 -DROUNDS=2
fifo_three       part  wake   -DFIFO=1 -DN=3 -DPOLLS=0
stopped          holds wake   -DPOLLS=0 -DSTOPS=1
stopped_fifo     holds wake   -DPOLLS=0 -DFIFO=1 -DSTOPS=1
stopped_again    part  wake   -DPOLLS=0 -DROUNDS=2 -DSTOPS=1
stopped_three    part  wake   -DPOLLS=0 -DFIFO=1 -DN=3 -DSTOPS=1
passed_over      holds wake   -DPOLLS=0 -DPASSES=1
passed_fifo      holds wake   -DPOLLS=0 -DFIFO=1 -DPASSES=1
EARLY_EXPIRY     fails wake   -DWAKE=0
SAME_FENCE       fails wake   -DWAKE=0 -DSTALLS=1
BLIND_TAKE_OVER  fails wake   -DWAKE=0 -DSTALLS=1 -DROUNDS=2
BLIND_RELEASE    fails wake   -DWAKE=0 -DSTALLS=1
RING_GRANTS      fails wake
RING_FIRST       fails wake   -DPOLLS=0
NEVER_LOOKS      fails wake   -DPOLLS=0
LOOK_FIRST       fails wake   -DPOLLS=0 -DAGAIN=1 -DROUNDS=2
LEAVE_SILENTLY   fails wake   -DPOLLS=0 -DN=3 -DLEAVES=1
LOSE             fails wake   -DPOLLS=0
NEWCOMER         fails wake   -DFIFO=1 -DHELD=1 -DROUNDS=2
NEVER_PASSES     fails wake   -DPOLLS=0 -DFIFO=1 -DROUNDS=2 -DSTOPS=1
DEAD_FIRST       fails wake   -DFIFO=1 -DHELD=1 -DCRASHES=1
KEEP_PLACE       fails wake   -DFIFO=1 -DAGAIN=1 -DROUNDS=2
STALE_WORKS      fails wake   -DFIFO=1 -DAGAIN=1 -DROUNDS=2
# cycle.pml: nested waits of several processes
cycle_of_two    holds cycle -DN=2 -DLEAVES=1 -DLOSE=1
cycle_losses    holds cycle -DN=2 -DLOSSES=1
cycle_of_three  holds cycle -DLOSE=1
cycle_leaves    part  cycle -DLEAVES=1
UNCONFIRMED      fails cycle -DLEAVES=1
CONFIRMS_ALL     fails cycle -DN=2 -DLEAVES=1
ANY_VICTIM       fails cycle
ASKS_NOBODY      fails cycle
LIST
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
surprises=0

check() { # name expected model option...
  local name=$1 expected=$2 model=$3 found verdict=ok limit=600 search=(-DCOLLAPSE)
  shift 3
  if [ "$expected" = fails ]; then set -- "$@" "-D$name=1"; search=(-DBITSTATE); fi
  if [ "$expected" = part ]; then search=(-DBITSTATE) limit=${PART:-10}; fi
  rm -f ./*
  cp "$here/$model.pml" .
  spin -a "$@" "$model.pml" >build.log 2>&1 || { cat build.log; return 1; }
  cc -w -O2 -DSAFETY -DNOREDUCE -DMEMLIM=4000 "${search[@]}" -o pan pan.c
  local began=${EPOCHREALTIME/./}
  timeout -s INT "$limit" ./pan -m100000 -w26 >out 2>&1 || true
  local tenths=$(((${EPOCHREALTIME/./} - began) / 100000))
  if grep -q '^pan:1:' out; then
    found=fails
  elif grep -qE 'depth too small|out of memory|MEMLIM|aborting' out; then
    found=incomplete
  elif grep -q 'Search not completed' out || ! grep -q 'errors: 0' out; then
    found=part
  else
    found=holds
  fi
  if [ "$found" != "$expected" ] && [ "$expected $found" != 'part holds' ]; then
    verdict=SURPRISE
    surprises=$((surprises + 1))
  fi
  printf '%-9s %-16s %-6s %12s states %5d.%d s  %s\n' "$verdict" "$name" "$found" \
    "$(sed -nE 's/^ *([0-9.e+]+) states, stored.*/\1/p' out)" $((tenths / 10)) $((tenths % 10)) \
    "$(sed -nE 's/^pan:1: (assertion violated|invalid end state) ?(.{0,50}).*/\1 \2/p' out)"
  if [ $verdict = ok ]; then return 0; fi
  tail -n 3 out
  if [ "$found" = fails ]; then spin -T -p -k "$model.pml.trail" "$@" "$model.pml" | grep proc | tail -n 60; fi
}

command -v spin >/dev/null || { echo "spin is missing: scripts/setup.sh model" >&2; exit 1; }
chosen=" $* "
while read -r name expected model options; do
  if [ $# -gt 0 ] && [[ $chosen != *" $name "* ]]; then continue; fi
  read -ra flags <<<"$options"
  check "$name" "$expected" "$model" "${flags[@]}"
done < <(runs)
[ "$surprises" = 0 ] || { echo "$surprises runs are not as expected"; exit 1; }
