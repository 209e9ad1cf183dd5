#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# What the compiler does not check about the sources (docs/architecture.md explains the rules):
#   - only stores include the clients of databases, and only dlock::odb includes ODB or what ODB's compiler has written;
#   - a public header includes only what stands before it in the order of layers;
#   - a folder of src/ includes only those folders, and public headers of those layers, that are listed for it;
#   - one file speaks to the store, and what an operation or the background does needs no clock, thread or sleep;
#   - a public header exports what it declares from the shared libraries (dlock/export.hpp), and with a build folder as argument: no
#     library needs what another one hides;
#   - size: a public header has at most 200 lines;
#   - every file begins with its licence;
#   - with a build folder as argument: what one of its objects calls of another one is defined below it, and nothing runs in a
#     cycle. That sees what a header does not show: where a function is defined.
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

# shellcheck source=scripts/stores.sh
. scripts/stores.sh
client_headers=$(store_words CLIENT_HEADERS | paste -sd '|')

# ---- who may see a database -----------------------------------------------------------------------------------

offend_includes() { # file pattern text
  while IFS= read -r line; do offend "$1:$line: $3"; done < <(grep -nE "^ *# *include *[<\"]($2)" "$1" | cut -d: -f1)
}
while IFS= read -r file; do
  case $file in
    include/dlock/odb/* | include/dlock/detail/odb_compat.hpp | src/odb/*) continue ;;
  esac
  # ODB's headers end in .hxx. src/odb/ is ours.
  offend_includes "$file" 'odb/[^"]*\.hxx|[^"]*-odb[^"]*\.hxx|dlock/detail/odb_compat|dlock/odb/' "only dlock::odb may include ODB"
  case $file in
    include/dlock/stores/* | src/stores/*) continue ;;
  esac
  offend_includes "$file" "$client_headers" "only stores may include the client of a database"
done < <(sources include src)

# ---- the order of the layers -----------------------------------------------------------------------------------

# A layer of a public header, as a number; nothing for the headers that belong to no layer.
layer() {
  case $1 in
    dlock/error.hpp | dlock/runs_later.hpp | dlock/store_interface/id128.hpp | dlock/store_interface/clock.hpp | dlock/version.hpp | dlock/store_interface/row_table.hpp | dlock/store_interface/lease_kind.hpp) echo 1 ;;
    dlock/lock_options.hpp | dlock/service_options.hpp) echo 2 ;;
    dlock/append_part.hpp | dlock/key.hpp | dlock/key_of.hpp | dlock/lock_key.hpp | dlock/lock_keys.hpp | dlock/lock_key_formatter.hpp) echo 3 ;;
    dlock/store_interface/*.hpp) echo 4 ;;
    dlock/owner.hpp | dlock/observer.hpp) echo 5 ;;
    dlock/event_log.hpp | dlock/trace.hpp | dlock/metrics.hpp) echo 6 ;;
    dlock/lease.hpp | dlock/multi_lease.hpp) echo 6 ;;
    dlock/lock_service.hpp | dlock/once.hpp | dlock/with_lock.hpp | dlock/async.hpp) echo 7 ;;  # a class, and its members that are templates
    dlock/distributed_mutex.hpp | dlock/distributed_semaphore.hpp | dlock/distributed_shared_mutex.hpp | dlock/leader.hpp | dlock/leader_watch.hpp | dlock/spdlog_observer.hpp | dlock/prometheus.hpp | dlock/asio.hpp) echo 8 ;;
    dlock/macros.hpp | dlock/locked.hpp) echo 9 ;;
    dlock/dlock.hpp) echo 10 ;;
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

# ---- the order of the folders in src/ ---------------------------------------------------------------------------

# For a file: the highest layer of a public header that it may include, and what it may include of src/. A client knows no
# table, MySQL's stores nothing of SQLite's, no store the engine. What base has of mutexes, threads and texts stands below all of them. An object may need what
# the same list allows; api/lease.hpp and api/lock_service.hpp there stand for their sources.
# Of a store: src/stores/<name>/layers.txt says it for its folders. Without that file it may include what all stores may.
store_rule() { # <name>/<file in its folder>
  local name=${1%%/*} folder allowed
  if [ -f "src/stores/$name/layers.txt" ]; then
    while IFS=: read -r folder allowed; do
      # shellcheck disable=SC2254 # a pattern
      case ${1#*/} in $folder) echo "$allowed" && return 0 ;; esac
    done < <(grep -v '^#' "src/stores/$name/layers.txt")
    return 0
  fi
  allowed="stores/credentials.hpp stores/findings.hpp stores/reply_or_in_doubt.hpp stores/hangup_watch.hpp stores/name_lookup.hpp stores/key_listeners.hpp stores/key_waiters.hpp stores/$name"
  if stores_with SQL | grep -qx "$name"; then allowed+=" stores/sql"; fi
  echo "$allowed"
}
engine_registry="engine/machines engine/statements engine/registry"
folder_rule() {
  case $1 in
    src/base/*) echo 2 base ;;
    src/key/*) echo 3 base key ;;
    src/stores/sql/*) echo 4 stores/findings.hpp stores/sql ;;
    src/stores/memory/*) echo 4 stores/memory ;;
    src/stores/name_lookup.cpp) echo 4 stores/name_lookup.hpp ;;
    src/stores/key_waiters.hpp) echo 4 stores/key_listeners.hpp ;;
    src/stores/hangup_watch.cpp) echo 4 stores/hangup_watch.hpp ;;
    src/stores/*/*) echo "4 $(store_rule "${1#src/stores/}")" ;;
    src/stores/*) echo 4 ;;
    src/engine/machines/*) echo 4 base engine/machines ;;
    src/engine/statements/*) echo 4 engine/machines engine/statements ;;
    src/engine/background/*) echo 5 base $engine_registry engine/background ;;
    src/engine/operations/*) echo 5 base $engine_registry engine/background engine/operations ;;
    src/engine/drivers/*) echo 5 $engine_registry engine/operations engine/drivers ;;
    src/engine/registry/*) echo 5 base $engine_registry ;;
    src/engine/core/*) echo 5 base engine ;;
    # Metrics ask a service for its gauges.
    src/observers/*) echo 8 observers api/lock_service.hpp ;;
    src/odb/mysql/*) echo 7 odb stores/sql ;;
    src/odb/sqlite/*) echo 7 odb stores/sql stores/sqlite/client ;;
    src/odb/*) echo 7 odb engine stores/sql api/access.hpp api/lease.hpp api/once.hpp ;;
    src/api/*) echo 10 base key engine api ;;
    *) echo 0 ;;
  esac
}
may_include() { # included allowed...: whether it is one of them or below one of them
  local included=$1 allowed
  shift
  for allowed; do
    case $included in "$allowed" | "$allowed"/*) return 0 ;; esac
    # Sources of a folder that were compiled together: nobody can tell which of its headers is meant.
    case $included in */unity.hpp) if [ "${allowed%/*}" = "${included%/*}" ] && [[ $allowed == *.hpp ]]; then return 0; fi ;; esac
  done
  return 1
}
while IFS= read -r file; do
  read -r highest allowed <<<"$(folder_rule "$file")"
  while IFS=: read -r number included; do
    case $included in
      dlock/*)
        other=$(layer "$included")
        if [ -n "$other" ] && [ "$other" -gt "$highest" ]; then
          offend "$file:$number: includes $included, which stands above its folder"
        fi
        ;;
      */*)
        # shellcheck disable=SC2086 # a list of words
        if [ -d "src/${included%%/*}" ] && ! may_include "$included" base/background_thread.hpp base/signals.hpp base/text.hpp base/mutex.hpp $allowed; then
          offend "$file:$number: includes $included, which its folder may not know"
        fi
        ;;
    esac
  done < <(sed -nE '/^ *# *include *[<"]([^>"]+\.hpp)[>"].*/{=;s//\1/p}' "$file" | paste -d: - -)
done < <(sources src)

# ---- what the rooms of the engine do not do ----------------------------------------------------------------------

offend_each() { # text, pattern, file...: every line that has it, comments apart
  local text=$1 pattern=$2
  shift 2
  while IFS= read -r line; do offend "$line: $text"; done < <(grep -nP "$pattern" "$@" /dev/null | grep -vE '^[^:]*:[0-9]+: *//' | cut -d: -f1,2)
}
# `co_await f.wait(...)`, of the coroutine's flow, does not block.
mapfile -t resumed < <(sources src/engine/machines src/engine/operations src/engine/background)
offend_each "what is resumed does not read a clock" '(_clock|time|time_)(::|\.|->)now\(|system_time' "${resumed[@]}"
offend_each "what is resumed does not wait, sleep or own a thread" \
  'condition_variable|std::thread|sleep_|wait_(until|for)\(|(?<!co_await f)[.>]wait\(|[.>]join\(' "${resumed[@]}"
mapfile -t silent < <(sources src/engine src/api | grep -v '^src/engine/statements/batch\.cpp$')
offend_each "only the executor's batches speak to the store" \
  '(where|where_|where\(\)|store|store_|inner_?)(\.|->)(execute|session)\(' "${silent[@]}"

# ---- the objects of a build ---------------------------------------------------------------------------------------

of_ours() { [ -f "src/$1" ] || { [[ $1 == */unity.cpp ]] && [ -d "src/${1%/*}" ]; }; }
# "a.cpp b.cpp symbol" for each symbol that one source needs of another. Virtual calls and functions that are passed are not seen.
# Sources of one folder that were compiled together (dlock_use_unity_by_folder) count as <folder>/unity.cpp.
arrows() { # build folder
  (cd "$1/src/CMakeFiles" && find . -path './dlock_*.dir/*.c*.o' ! -path '*_pch.dir/*' -exec nm -A {} +) |
    sed -E 's,^\./[^/]*/([^:]*)\.o:,\1 ,' | awk '
      $1 ~ /^Unity\/unity_/ {
        sub(/^Unity\/unity_/, "", $1)
        sub(/_cxx\.cxx$/, "", $1)
        gsub(/\./, "/", $1)
        $1 = $1 "/unity.cpp"
      }
      $NF !~ /dlock/ { next }
      $(NF - 1) ~ /^[TDBR]$/ { home[$NF] = $1 }
      $(NF - 1) == "U" { uses[$1 " " $NF] }
      END {
        for (each in uses) {
          split(each, part, " ")
          to = home[part[2]]
          if (to != "" && to != part[1]) print part[1], to, part[2]
        }
      }' | while read -r from to symbol; do
    if of_ours "$from" && of_ours "$to"; then printf '%s %s %s\n' "$from" "$to" "$symbol"; fi
  done | sort
}
if [ $# -gt 0 ]; then
  declare -A rules=()
  found=$(arrows "$1")
  if [ -z "$found" ]; then
    echo "check_layers: $1 has no objects of src/" >&2
    exit 1
  fi
  while read -r from to symbol; do
    # Every store makes itself known in the registry, which always knows the one in memory, and may leave functions of the
    # administration to the interface.
    case $from:$to in stores/*:stores/registry.cpp | stores/registry.cpp:stores/memory/* | stores/*:stores/store_admin.cpp) continue ;; esac
    for file in "$from" "$to"; do
      if [ -z "${rules[$file]:-}" ]; then rules[$file]=$(folder_rule "src/$file"); fi
    done
    read -r height allowed <<<"${rules[$from]}"
    below=${rules[$to]%% *}
    # shellcheck disable=SC2086 # a list of words
    if [ "$below" -lt "$height" ] || may_include "${to%.cpp}.hpp" $allowed; then continue; fi
    offend "src/$from: needs $(c++filt "$symbol"), which src/$to defines"
  done < <(sort -u -k 1,2 <<<"$found")
  while IFS= read -r line; do
    offend "objects in a cycle:$line"
  done < <(cut -d ' ' -f 1,2 <<<"$found" | sort -u | tsort 2>&1 >/dev/null | sed 's/^tsort: //' |
    awk '/contains a loop/ { if (all) print all; all = ""; next } { all = all " " $0 } END { if (all) print all }')
fi

# ---- what a shared library exports --------------------------------------------------------------------------------

# The namespace's attribute exports classes with their members. Each function that a source defines carries its own: nested
# namespaces take no attribute, and clang, which asks the namespace around the definition, finds none there.
while IFS= read -r file; do
  while IFS=: read -r line text; do offend "$file:$line: $text"; done < <(awk '
    function end_of(line) { gsub(/= [{][}]/, "", line); return line ~ /[;{]/ }
    function defined_elsewhere(line) { gsub(/= [{][}]/, "", line); return line !~ /[{]/ && line !~ /= delete;/ }
    /^namespace dlock \{/ { print FNR ":a public header opens namespace DLOCK_EXPORT dlock" }
    /^namespace / { ours = /dlock/ || /^namespace detail/ }
    /^}  \/\/ namespace dlock/ { ours = 0 }
    ours && /^[a-z[][^=(]*[a-z_>]\(/ && before !~ /^(template| *requires)/ &&
      !/^(template|inline|constexpr|using|static_assert|friend|class|struct|enum|concept|requires|explicit)[^a-z_]/ { start = FNR }
    start && end_of($0) {
      if (defined_elsewhere($0)) print start ":a function that a source defines and DLOCK_EXPORT does not mark"
      start = 0
    }
    { before = $0 }' "$file")
done < <(sources include)

# The same of the objects of a build: what one library, or the command, needs of another library, that one exports. A static library
# hides its symbols too, and says so of each. libdlock_sql_stores.a becomes a part of each SQL store's shared library, which alone may
# need its hidden symbols. (An optimized build needs more, as functions of headers are put into other libraries: ./dev package links it.)
if [ $# -gt 0 ]; then
  symbols() { # archive or object...: "file symbol kind" of each that is defined HIDDEN, or needed (UND)
    readelf -sW "$@" 2>/dev/null | awk '
      /^File: / { file = $2; sub(/\(.*/, "", file); sub(/.*[/]/, "", file) }
      $8 ~ /dlock/ && $7 == "UND" { print file, $8, "UND" }
      $8 ~ /dlock/ && $7 != "UND" && $6 == "HIDDEN" && $5 == "GLOBAL" { print file, $8, "HIDDEN" }'
  }
  mapfile -t archives < <(find "$1/src" -maxdepth 1 -name 'libdlock_*.a')
  mapfile -t tools < <(find "$1/tools" -name '*.o' ! -path '*_pch.dir/*' 2>/dev/null)
  if [ ${#archives[@]} -gt 0 ]; then
    sql_stores=$(stores_with SQL | sed 's/.*/libdlock_&.a/')
    while read -r user symbol owner; do
      offend "$user: needs $(c++filt "$symbol"), which $owner hides (DLOCK_EXPORT)"
    done < <(symbols "${archives[@]}" ${tools[@]+"${tools[@]}"} /dev/null | sort -u | awk -v sql_stores="$sql_stores" '
      BEGIN { count = split(sql_stores, names); for (i = 1; i <= count; ++i) has_sql[names[i]] }
      $3 == "HIDDEN" { owner[$2] = $1 }
      $3 == "UND" { users[$1 " " $2] }
      END {
        for (each in users) {
          split(each, part, " ")
          if (!(part[2] in owner) || owner[part[2]] == part[1]) continue
          if (owner[part[2]] == "libdlock_sql_stores.a" && part[1] in has_sql) continue
          print part[1], part[2], owner[part[2]]
        }
      }' | sort)
  fi
fi

# ---- size and licence -------------------------------------------------------------------------------------------

while IFS= read -r file; do
  limit=200
  lines=$(wc -l <"$file")
  if [ "$lines" -gt $limit ]; then offend "$file:$limit: has $lines lines; split it by type, the limit is $limit"; fi
done < <(sources include)

while IFS= read -r file; do
  if ! head -n 2 "$file" | grep -q 'SPDX-License-Identifier: BSL-1.0'; then
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
