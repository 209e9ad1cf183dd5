#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# What keeps tests/ as tests/README.md describes it:
#   - known_faults.md has each number once, and each number is the tag of a test;
#   - no test has a semicolon in its name: CMake would take that for two tests, and set no properties of either, such as the
#     server that it uses;
#   - every file with test cases is built by some CMakeLists.txt, and every folder is explained;
#   - tests/unit has no file, process or sleep.
# Prints each offence as file:line: text; exit code 1 when there is one.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "${BASH_SOURCE[0]}")/../tests"

offences=0
offend() {
  printf 'tests/%s\n' "$1"
  offences=$((offences + 1))
}

# ---- the list of known faults ------------------------------------------------------------------------------------

test_cases() { # file: one line for each, "text" and then its tags
  awk '{ sub(/^ +/, ""); text = text " " $0 }
    END {
      gsub(/" +"/, "", text)
      while (match(text, /TEST_CASE(_METHOD)?\([^"{]*"([^"\\]|\\.)*"(, *"[^"]*")?\)/)) {
        one = substr(text, RSTART, RLENGTH); text = substr(text, RSTART + RLENGTH)
        sub(/^[^"]*/, "", one); print one
      }
    }' "$1"
}

difference=$(diff <(seq -f 'T%02g' 95) <(sed -nE 's/^- \*\*(T[0-9]+)\*\* .*/\1/p' known_faults.md) || true)
if [ -n "$difference" ]; then
  offend "known_faults.md:1: the list of known faults has not each of T01 to T95 once, in order (> is the list):"
  printf '%s\n' "$difference"
fi
# A test has the number as a tag, or the sentence says "No test".
all_tests=$(find . -name '*_test.cpp' | sort | while IFS= read -r file; do test_cases "$file"; done)
while read -r number; do
  grep -qF -- "[$number]" <<<"$all_tests" || offend "known_faults.md:1: no test has the tag [$number]"
done < <(sed -nE '/No test/!s/^- \*\*(T[0-9]+)\*\* .*/\1/p' known_faults.md)

# ---- names -------------------------------------------------------------------------------------------------------

while IFS= read -r file; do
  while IFS= read -r name; do
    offend "${file#./}:1: the name of a test has a semicolon: $name"
  done < <(test_cases "$file" | sed -nE 's/^("[^"]*;[^"]*").*/\1/p')
done < <(find . -name '*_test.cpp' | sort)

# ---- the folders -------------------------------------------------------------------------------------------------

while IFS= read -r folder; do
  grep -qF "| \`$folder\`" README.md || offend "README.md:1: does not explain the folder $folder"
done < <(find . -mindepth 1 -maxdepth 1 -type d -printf '%f\n' | sort)
words() { # CMakeLists.txt: its words, one a line, and those with ${store} for each database
  tr ' ()<>:' '\n\n\n\n\n\n' <"$1" | sed -n 'p; /\${store}/ { s//mysql/p; s/mysql/sqlite/p }'
}
while IFS= read -r file; do
  folder=$(dirname "$file")
  while [ ! -f "$folder/CMakeLists.txt" ]; do folder=$(dirname "$folder"); done
  words "$folder/CMakeLists.txt" | grep -xF -- "${file#"$folder"/}" >/dev/null ||
    offend "${file#./}:1: ${folder#./}/CMakeLists.txt does not build it"
done < <(find . -name '*_test.cpp' | sort)
while IFS= read -r line; do
  offend "${line#./}: a unit test has no file, process or sleep"
done < <(grep -rnE 'sleep_(for|until)|fork\(|scratch_folder|<fstream>' unit | cut -d: -f1,2)

if [ $offences -gt 0 ]; then
  echo "check_tests: $offences offences" >&2
  exit 1
fi
