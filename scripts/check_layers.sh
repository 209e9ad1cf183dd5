#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What the compiler does not check about the sources (docs/architecture.md explains the rules):
#   - only the database parts include ODB or the clients of MySQL and SQLite;
#   - a public header includes only what stands before it in the order of layers;
#   - size: public headers 150 lines, every other C++ file 400;
#   - every file begins with its licence.
# Prints each offence as file:line: text; exit code 1 when there is one.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "${BASH_SOURCE[0]}")/.."

offences=0
offend() {
  printf '%s\n' "$1"
  offences=$((offences + 1))
}
sources() { # folder...: the C++ files in those that exist
  local folder existing=()
  for folder; do if [ -d "$folder" ]; then existing+=("$folder"); fi; done
  if [ ${#existing[@]} = 0 ]; then return 0; fi
  find "${existing[@]}" -type f \( -name '*.hpp' -o -name '*.cpp' \) | sort
}

# ---- who may see a database -----------------------------------------------------------------------------------

may_see_database() {
  case $1 in
    include/dlock/detail/odb_compat.hpp | include/dlock/stores/mysql*.hpp | include/dlock/stores/sqlite*.hpp) ;;
    include/dlock/odb/*) ;;
    src/stores/* | src/odb/* | odb/*) ;;
    *) return 1 ;;
  esac
}
while IFS= read -r file; do
  if may_see_database "$file"; then continue; fi
  while IFS= read -r line; do
    offend "$file:$line: only stores and rows may include a database"
  done < <(grep -nE '^ *# *include *[<"](odb/|mysql|mariadb|sqlite3|errmsg\.h|dlock/detail/odb_compat)' "$file" | cut -d: -f1,2)
done < <(sources include src)

# ---- the order of the layers -----------------------------------------------------------------------------------

# A layer of a public header, as a number; nothing for the headers that belong to no layer.
layer() {
  case $1 in
    dlock/error.hpp | dlock/store/id128.hpp | dlock/store/clock.hpp | dlock/version.hpp | dlock/store/row_table.hpp) echo 1 ;;
    dlock/lock_options.hpp | dlock/service_options.hpp) echo 2 ;;
    dlock/append_part.hpp | dlock/key.hpp | dlock/key_of.hpp | dlock/lock_key.hpp | dlock/lock_keys.hpp | dlock/lock_key_formatter.hpp) echo 3 ;;
    dlock/store/*.hpp) echo 4 ;;
    dlock/lease.hpp | dlock/multi_lease.hpp | dlock/owner.hpp | dlock/observer.hpp) echo 5 ;;
    dlock/lock_service.hpp) echo 6 ;;
    dlock/with_lock.hpp | dlock/distributed_mutex.hpp | dlock/spdlog_observer.hpp) echo 7 ;;
    dlock/macros.hpp | dlock/locked.hpp) echo 8 ;;
    dlock/dlock.hpp) echo 9 ;;
  esac
}
while IFS= read -r file; do
  own=$(layer "${file#include/}")
  if [ -z "$own" ]; then continue; fi
  while IFS=: read -r number included; do
    other=$(layer "$included")
    if [ -n "$other" ] && [ "$other" -gt "$own" ]; then
      offend "$file:$number: includes $included, which stands above it"
    fi
  done < <(sed -nE '/^ *# *include *[<"](dlock\/[^>"]+)[>"].*/{=;s//\1/p}' "$file" | paste -d: - -)
done < <(sources include)

# ---- size and licence -------------------------------------------------------------------------------------------

while IFS= read -r file; do
  limit=400
  case $file in
    include/dlock/detail/*) ;;
    include/*) limit=150 ;;
  esac
  lines=$(wc -l <"$file")
  if [ "$lines" -gt $limit ]; then offend "$file:$limit: has $lines lines; split it by type, the limit is $limit"; fi
done < <(sources include src odb tests samples bench codegen)

while IFS= read -r file; do
  if ! head -n 2 "$file" | grep -q 'SPDX-License-Identifier: GPL-2.0-or-later'; then
    offend "$file:1: does not begin with its licence line"
  fi
done < <(
  sources include src odb tests samples bench codegen
  find CMakeLists.txt cmake codegen scripts odb src tests samples bench -name build -prune -o -type f \
    \( -name CMakeLists.txt -o -name '*.cmake' -o -name '*.sh' \) -print | sort
)

if [ $offences -gt 0 ]; then
  echo "check_layers: $offences offences" >&2
  exit 1
fi
