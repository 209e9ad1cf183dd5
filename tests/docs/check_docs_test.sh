#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# scripts/check_docs.sh finds each of these mistakes. They are made all at once in a copy of the pages and sources.
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r "$source"/{LICENSE,README.md,CHANGELOG.md,CONTRIBUTING.md,docs,include,samples,src,tests} "$copy"
mkdir "$copy/scripts"
cp "$source/scripts/pictures.py" "$copy/scripts"
cd "$copy"

failed=0
fail() {
  printf '%s\n' "$1"
  failed=1
}
expected=()
mistake() { # file sed-expression text-of-the-offence...
  local file=$1 before
  before=$(cksum <"$file")
  sed -i -E "$2" "$file"
  [ "$before" != "$(cksum <"$file")" ] || fail "the mistake '$2' changes nothing in $file"
  shift 2
  expected+=("$@")
}

# Code, links.
mistake docs/keys.md '/^```cpp/,/^```$/ s/append_part\(std/append_text(std/' \
  'the code block is not the region [append_part] of tests/unit/key/key_pattern_test.cpp'
mistake docs/keys.md 's/key_pattern_test.cpp structs/key_pattern_test.cpp structures/' 'key_pattern_test.cpp has no region [structures]'
printf '\n```cpp\nint x;\n```\n' >>README.md
expected+=('README.md:'"$(($(wc -l <README.md) - 2))"': a C++ block that is no region of a compiled file')
mistake docs/redis.md 's/protocol\.md\)/protokoll.md)/' 'link to protokoll.md, which does not exist'
mistake docs/errors.md 's/#when-a-lease-is-lost/#when-a-lease-is-found/' 'link to guarantees.md#when-a-lease-is-found: no such heading'
printf '# A page\n' >docs/nowhere.md
expected+=('README.md:1: no link to docs/nowhere.md')

mistake CONTRIBUTING.md 's#`field_check` in `src/base/lock_options.cpp`#`field_check` in `src/base/look_options.cpp`#' 'there is no src/base/look_options.cpp'

# Names that pages explain.
mistake docs/errors.md 's/`errc::forked`/forked/' 'docs/errors.md:1: does not explain `errc::forked`'
mistake docs/errors.md 's/`still_held`/still held/' 'docs/errors.md:1: does not explain `still_held`'
mistake docs/guarantees.md 's/`abandoned`/abandoned/' 'docs/guarantees.md:1: does not explain `abandoned`'
mistake docs/writing-a-store.md 's/`min_hold`/x/g' 'docs/writing-a-store.md:1: does not explain `min_hold`'
mistake docs/writing-a-store.md 's/`polls_and_wakes`/x/' 'docs/writing-a-store.md:1: does not explain `polls_and_wakes`'
mistake docs/operations.md 's/`innodb_lock_wait_timeout`/x/' 'docs/operations.md:1: does not explain `innodb_lock_wait_timeout`'
mistake src/stores/redis/client/settings.cpp 's/take_param\("[a-z_]+"/take_param("no_such_parameter"/' \
  'no header explains the URL parameter no_such_parameter'
mistake docs/errors.md 's/^- again, busy: 1020/- again, busy: 1019/' '< 1020 tb' '> 1019 tb'
mistake src/stores/mysql/client/errors.cpp 's/\{1021, "t"\}/{1021, "tc"}/' '< 1021 tc' '> 1021 t'
mistake docs/errors.md 's/^\| SQLITE_NOMEM \| again/| SQLITE_NOMEM | busy/' '> | SQLITE_NOMEM | busy |  |'

# Enumerators, names and limits of the code.
mistake docs/architecture.md 's/^- `frees`/- `fees`/' \
  'other enumerators, or another order, than in src/engine/statements/statement.hpp' '< frees' '> fees'
mistake include/dlock/store_interface/store_types.hpp 's/^  cancel, /  revoke, /' \
  'other enumerators, or another order, than in include/dlock/store_interface/store_types.hpp' '< revoke' '> cancel'
mistake docs/architecture.md 's/^\| `queue_turn`/| `queue_trun`/' 'queue_trun is no name of the code'
mistake include/dlock/lock_keys.hpp 's/max_size = 256/max_size = 512/' "docs/several-keys.md:1: does not say '1 to 512 different keys'"
mistake include/dlock/service_options.hpp "s/10'000/12'000'000/" "docs/asynchronous.md:1: does not say '\`service_options::max_waiters\` (12,000,000)'"
mistake docs/keys.md 's/255 bytes: its/254 bytes: its/' "docs/keys.md:1: does not say 'exactly 255 bytes'"
mistake src/odb/claim.cpp 's/most_rows/row_limit/' "src/odb/claim.cpp:1: has no limit 'most_rows = ', of which docs/row-locks.md speaks"
mistake src/base/lock_options.cpp 's/(classes_s\{1, 2,) 5/\1 4/' 'docs/protocol.md:1: other classes of ttl than src/base/lock_options.cpp'

# Contracts of public functions.
mistake include/dlock/odb/row.hpp 's/Thread safety: as `db`/Cost: as `db`/' ': Cost: stands behind a label that comes after it'
mistake include/dlock/with_lock.hpp 's/^(.*) Cost: that of/\1 It has a cost. Cost: that of/' ': Cost: does not begin its line'
mistake include/dlock/event_log.hpp 's/Errors: std::system_error/Throws std::system_error/' ': Throws: write it behind Errors:'

# Statements, tests, pictures.
mistake docs/protocol.md '/^## The statements: Maria/,/^## / s/AND NOT revoked/AND revoked/' \
  'docs/protocol.md:1: not in src/stores/sql/lease_sql.cpp and src/stores/mysql/lease_table/sql.cpp: UPDATEdlock_sessionSET'
mistake docs/protocol.md '/^## The statements: SQLite/,/^## / s/RETURNING fence$/RETURNING nonce/' \
  'docs/protocol.md:1: not in src/stores/sql/lease_sql.cpp and src/stores/sqlite/lease_table/sql.cpp: UPDATEdlock_lockSET'
mistake docs/mysql-schemes.md '/^<!-- sql: /,/^```$/ s/WHERE/WITH/' 'docs/mysql-schemes.md:'
mistake docs/zh-CN/designs.md 's/^<!-- tests -->$/&\n`no such test`\n/' 'no test is called: no such test'
mistake docs/pictures/layers.svg 's/the engine/an engine/' 'docs/pictures/layers.svg'

# What is too long. A letter of several bytes is one column.
line() { printf "$1%.0s" $(seq "$2"); }
{
  line 'ä' 120
  printf '\n\n'
  line 'ä' 121
  printf '\n\n```sh\n'
  line x 200
  printf '\n```\n\n| a | b |\n|---|---|\n| %s | |\n' "$(line x 100)"
  printf '| %s | |\n' "$(line y 101)"
} >docs/nowhere.md
expected+=('docs/nowhere.md:3: more than 120 columns' 'docs/nowhere.md:12: a table cell of more than 100 characters: yyyy')

code=0
found=$(DLOCK_DOCS_ROOT=$copy "$source/scripts/check_docs.sh" 2>/dev/null) || code=$?
[ $code = 1 ] || fail "the exit code is $code"
for text in "${expected[@]}"; do
  grep -qF -- "$text" <<<"$found" || fail "check_docs does not say: $text"
done
for text in 'nowhere.md:1: more than' 'nowhere.md:6:' 'nowhere.md:11: a table'; do
  if grep -qF -- "$text" <<<"$found"; then fail "check_docs says: $text"; fi
done
exit $failed
