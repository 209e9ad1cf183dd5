#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# What docs/command.md says of exit codes is what the definition of the command line says, and its examples run:
# page_test.sh <dlock_generate> <dlock> <docs/command.md>
set -euo pipefail
generate=$(realpath "$1") program=$(realpath "$2") page=$(realpath "$3")

failed=0
# Between the lines <!-- generated: exit-codes --> and <!-- /generated -->, without the line ends inside of a sentence.
if ! diff <("$generate" exit-codes | tr -s '\n ' ' ') \
  <(sed -n '/^<!-- generated: exit-codes -->$/,/^<!-- \/generated -->$/p' "$page" | sed '1d;$d' | tr -s '\n ' ' ' | sed 's/^ //'); then
  echo "page_test: $page differs from 'dlock_generate exit-codes'" >&2
  failed=1
fi

# The blocks below <!-- runs -->.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
awk '/^<!-- runs -->$/ { marked = 1; next } /^```/ { inside = marked && !inside; if (!inside) marked = 0; next } inside' "$page" >script
if [ ! -s script ]; then
  echo "page_test: $page has no example that runs" >&2
  failed=1
fi
mkdir bin && ln -s "$program" bin/dlock
if ! PATH=$scratch/bin:$PATH bash -eu script >output 2>&1; then
  cat output
  echo "page_test: an example of $page fails" >&2
  failed=1
fi

# All other lines with dlock run, with their options and another command.
export DLOCK_URL=sqlite:locks.db CI_JOB_ID=1234567890
while IFS= read -r line; do
  line=${line//--config \/etc\/mailer\/dlock.conf/}
  if ! eval "$program run ${line%% -- *} -- true"; then
    echo "page_test: $page: dlock run $line" >&2
    failed=1
  fi
done < <(sed -n '/^```/,/^```/s/.*dlock run \([^|]* -- .*\)/\1/p' "$page")

# The picture of the pages is what the command draws.
pictures=$(dirname "$page")/pictures
if ! "$program" timeline "$pictures/timeline.jsonl" | cmp - "$pictures/timeline.svg"; then
  echo "page_test: $pictures/timeline.svg is not what 'dlock timeline' draws of timeline.jsonl" >&2
  failed=1
fi
exit $failed
