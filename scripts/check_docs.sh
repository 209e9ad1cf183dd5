#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# What keeps the documentation true:
#   - a code block after the line <!-- region: FILE NAME --> equals the lines of FILE between "// [NAME]" and
#     "// [/NAME]", and every C++ block of README.md has such a line;
#   - links to files and headings of this repository, and paths in code format, lead somewhere; README.md leads to every
#     page of docs/;
#   - error codes, reasons of loss, events, capabilities and what is set for MySQL's connections are in the page that explains them,
#     URL parameters in the header of a store, and the classes of MySQL's error numbers in docs/errors.md are those of the source;
#   - the statements in docs/protocol.md are those of the source;
#   - enumerators after <!-- enum: FILE NAME --> are those of FILE, in their order; names after <!-- identifiers --> are
#     names of the code; the limits listed below are those of the code;
#   - in the comments of public headers, the labels of a contract begin their lines and come in their order;
#   - no line is longer than 120 columns, but for code blocks, and no table cell longer than 100 characters;
#   - the tests that a page names exist;
#   - the pictures are what scripts/pictures.py draws.
# Prints each offence as file:line: text; exit code 1 when there is one. DLOCK_DOCS_ROOT: another folder, for its tests.
set -euo pipefail
shopt -s lastpipe # what offends at the end of a pipe counts, too
export LC_ALL=C
cd "${DLOCK_DOCS_ROOT:-$(dirname "${BASH_SOURCE[0]}")/..}"

offences=0
offend() {
  printf '%s\n' "$1"
  offences=$((offences + 1))
}
pages() { find README.md README.zh-CN.md CHANGELOG.md CONTRIBUTING.md docs samples tests/README.md tests/known_faults.md tests/mistakes.md -name '*.md' 2>/dev/null | sort; }

# ---- code that is a part of a compiled file --------------------------------------------------------------------

region() { # file name: its lines, without the indentation of the first
  awk -v begin="// [$2]" -v end="// [/$2]" '
    { text = $0; sub(/^ +/, "", text) }
    text == end { inside = 0 }
    inside && !known { match($0, /^ */); indent = RLENGTH; known = 1 }
    inside { match($0, /^ */); print substr($0, (RLENGTH < indent ? RLENGTH : indent) + 1) }
    text == begin { inside = 1 }' "$1"
}
block_after() { # page line: the code block that begins in the line after it
  awk -v at="$2" 'NR == at + 1 { if ($0 !~ /^```/) exit; inside = 1; next } inside && /^```/ { exit } inside' "$1"
}
while IFS= read -r page; do
  while IFS=: read -r line marker; do
    read -r _ _ file name _ <<<"$marker"
    if [ ! -f "$file" ]; then offend "$page:$line: region of $file, which does not exist"; continue; fi
    expected=$(region "$file" "$name")
    if [ -z "$expected" ]; then
      offend "$page:$line: $file has no region [$name]"
    elif [ "$expected" != "$(block_after "$page" "$line")" ]; then
      offend "$page:$line: the code block is not the region [$name] of $file, which is"
      printf '%s\n' "$expected"
    fi
  done < <(grep -nE '^<!-- region: [^ ]+ [^ ]+ -->$' "$page" || true)
done < <(pages)
while IFS= read -r line; do
  offend "README.md:$line: a C++ block that is no region of a compiled file"
done < <(awk '/^```cpp/ && before !~ /^<!-- region: / { print NR } { before = $0 }' README.md)

# ---- links -----------------------------------------------------------------------------------------------------

anchors() { # page: the names that links may end in after '#', as GitHub makes them
  awk '/^```/ { code = !code } !code' "$1" | sed -nE 's/^#+ +//p' | tr 'A-Z' 'a-z' |
    sed -E 's/\[([^]]*)\]\([^)]*\)/\1/g; s/[^a-z0-9 _-]//g; s/ /-/g'
  sed -nE 's/.*<a id="([^"]+)">.*/\1/p' "$1"
}
while IFS= read -r page; do
  while IFS=: read -r line target; do
    case $target in http://* | https://* | mailto:*) continue ;; esac
    file=${target%%#*} fragment=
    case $target in *'#'*) fragment=${target#*#} ;; esac
    if [ -z "$file" ]; then file=$page; else file=$(dirname "$page")/$file; fi
    if [ ! -e "$file" ]; then
      offend "$page:$line: link to $target, which does not exist"
    elif [ -n "$fragment" ] && ! grep -qxF -- "$fragment" <(anchors "$file"); then
      offend "$page:$line: link to $target: no such heading"
    fi
  done < <(awk '/^```/ { code = !code }
    !code { rest = $0
      while (match(rest, /\]\([^) ]+\)/)) {
        print NR ":" substr(rest, RSTART + 2, RLENGTH - 3); rest = substr(rest, RSTART + RLENGTH) } }' "$page")
done < <(pages)
# Paths of the repository in code format; CHANGELOG.md speaks of former ones.
while IFS=: read -r page line path; do
  path=${path//\`/}
  case $path in dlock/*) path=include/$path ;; esac
  [ -e "$path" ] || offend "$page:$line: there is no $path"
done < <(grep -noE '`(bench|cmake|codegen|dlock|docs|include|odb|samples|scripts|sql|src|tests)/[A-Za-z0-9_./-]+`' $(pages) /dev/null |
  grep -v '^CHANGELOG.md:')
for page in docs/*.md CHANGELOG.md CONTRIBUTING.md; do
  grep -qF "]($page" README.md || offend "README.md:1: no link to $page"
done

# ---- names that a page must explain ----------------------------------------------------------------------------

enumerators() { # header pattern: those of the first enum class whose line it matches
  awk -v from="$2" '!inside && $0 ~ from "( : [a-z:_0-9]+)? \\{" { inside = 1; next } inside && /};/ { exit }
    inside { sub(/\/\/.*/, ""); gsub(/[ ,]/, ""); sub(/=.*/, ""); if ($0 != "") print }' "$1"
}
expect_in() { # page name-format, names on standard input
  local name wanted
  while IFS= read -r name; do
    # shellcheck disable=SC2059
    wanted=$(printf "$2" "$name")
    grep -qF -- "$wanted" "$1" || offend "$1:1: does not explain $wanted"
  done
}
enumerators include/dlock/error.hpp 'enum class errc' | expect_in docs/errors.md '`errc::%s`'
enumerators include/dlock/error.hpp 'enum class loss_reason' | expect_in docs/guarantees.md '`%s`'
enumerators include/dlock/observer.hpp 'enum class kind' | expect_in docs/errors.md '`%s`'
enumerators include/dlock/store_interface/capabilities.hpp 'enum class waiting' | expect_in docs/writing-a-store.md '`%s`'
sed -nE '/^struct capabilities/,/^};/ s/^ +bool ([a-z_]+)( =.*|)$/\1/p' include/dlock/store_interface/capabilities.hpp |
  expect_in docs/writing-a-store.md '`%s`'
# A store's header lists the parameters of its URL.
while IFS= read -r name; do
  grep -rqwF -- "$name" include/dlock/stores || offend "include/dlock/stores:1: no header explains the URL parameter $name"
done < <(grep -rhoE 'take_(param|number|timeout)\((url, )?"[a-z_]+"' --include='*.cpp' src/stores | sed -E 's/.*"(.*)"/\1/' | sort -u)
sed -nE 's/^ *\{[a-z_0-9| ]+, \{"([a-z_]+)".*/\1/p' src/stores/mysql/client/native.cpp | sort -u |
  expect_in docs/operations.md '`%s`'

# Below "<!-- enum: FILE NAME -->", up to the next blank line: a list or a table, each item of which begins with an
# enumerator. Without NAME: of the first enum class of FILE.
while IFS=: read -r page line marker; do
  read -r _ _ file name _ <<<"$marker"
  if [ "$name" = '-->' ]; then name='[a-z_]+'; fi
  difference=$(diff <(enumerators "$file" "^ *enum class $name") \
    <(awk -v at="$line" 'NR <= at { next } /^$/ { exit } { print }' "$page" | sed -nE 's/^(- |\| )\*{0,2}`([a-z_]+)`.*/\2/p') || true)
  if [ -n "$difference" ]; then
    offend "$page:$line: other enumerators, or another order, than in $file (< source, > page):"
    printf '%s\n' "$difference"
  fi
done < <(grep -nE '^<!-- enum: [^ ]+ ([a-z_]+ )?-->$' $(pages) /dev/null)

# Names in the first column of the table below "<!-- identifiers -->" are names of the code.
all_names=$(find include src -name '*.[hc]pp' -exec cat {} + | sed 's|//.*||; s/"[^"]*"//g' | grep -oE '[A-Za-z_][A-Za-z0-9_]*' | sort -u)
while IFS=: read -r page line _; do
  while IFS= read -r name; do
    grep -qxF -- "$name" <<<"$all_names" || offend "$page:$line: $name is no name of the code"
  done < <(awk -F'|' -v at="$line" 'NR <= at { next } /^$/ { exit } { print $2 }' "$page" | grep -oE '`[^`]+`' | tr -d '`')
done < <(grep -nE '^<!-- identifiers -->$' $(pages) /dev/null)

limit() { # page file pattern text: the number behind the pattern in the file is that in the page's text, where it is {}
  local number text
  number=$(sed -nE "s/.*$3([0-9']+).*/\1/p" "$2" | head -n 1 | tr -d "'")
  if [ -z "$number" ]; then offend "$2:1: has no limit '$3', of which $1 speaks"; return; fi
  number=$(sed -E ':a; s/([0-9])([0-9]{3})($|,)/\1,\2\3/; ta' <<<"$number")
  text=${4//\{\}/$number}
  tr '\n' ' ' <"$1" | tr -s ' ' | grep -qF -- "$text" || offend "$1:1: does not say '$text', as $2 does"
}
limit docs/keys.md include/dlock/lock_key.hpp 'max_size = ' '1 to {} bytes'
limit docs/keys.md include/dlock/lock_key.hpp 'max_size = ' 'exactly {} bytes'
limit docs/keys.md include/dlock/lock_key.hpp 'readable_size = ' 'first {} bytes'
limit docs/architecture.md include/dlock/lock_key.hpp 'max_size = ' '1 to {} bytes'
limit docs/several-keys.md include/dlock/lock_keys.hpp 'max_size = ' '1 to {} different keys'
limit docs/several-keys.md src/engine/statements/batch.hpp 'most = ' 'at most {} keys'
limit docs/waiting.md include/dlock/service_options.hpp 'max_waiters = ' '`service_options::max_waiters` ({})'
limit docs/asynchronous.md include/dlock/service_options.hpp 'max_waiters = ' '`service_options::max_waiters` ({})'
limit docs/asynchronous.md src/engine/statements/batch.hpp 'most = ' 'up to {} takes or releases'
limit docs/row-locks.md src/engine/statements/batch.hpp 'most = ' 'up to {} rows share one statement'
limit docs/row-locks.md src/odb/claim.cpp 'most_rows = ' '(at most {})'
limit docs/protocol.md src/engine/background/session_keeper.cpp 'return ' 'more than {} + 2 × `connections`'
limit docs/guarantees.md src/engine/background/session_keeper.cpp 'return ' 'more than {} + 2 × `connections`'
limit docs/protocol.md src/stores/sql/clean_up.cpp 'window = ' 'windows of {} rows'
limit docs/protocol.md src/engine/operations/clean_up.cpp 'most_rows = ' '({} of a kind)'
limit docs/redis.md src/stores/redis/leases/store.cpp 'window = ' 'windows of {},'
limit docs/redis.md src/stores/redis/leases/store.cpp 'most_checked = ' 'up to {} locks'
classes=$(sed -nE 's/.*classes_s\{(.*)\};/\1/p' src/base/lock_options.cpp)
tr '\n' ' ' <docs/protocol.md | grep -qF -- "each ttl class: $classes seconds" ||
  offend "docs/protocol.md:1: other classes of ttl than src/base/lock_options.cpp, which has $classes"

# The contract of a public function: what it does, then each of these labels where there is something to say.
while IFS= read -r offence; do offend "$offence"; done < <(find include -name '*.hpp' ! -path '*/detail/*' -print0 | sort -z | xargs -0 awk '
  function offence(text) { print FILENAME ":" FNR ": " text }
  BEGIN { rank["Precondition"] = 1; rank["Errors"] = 2; rank["Thread safety"] = 3; rank["Cost"] = 4 }
  !/^ *\/\/\/( |$)/ { last = 0; next }
  / Throws[: ]/ { offence("Throws: write it behind Errors:") }
  {
    for (text = $0; match(text, /(Precondition|Errors|Thread safety|Cost): /); text = substr(text, RSTART + RLENGTH)) {
      label = substr(text, RSTART, RLENGTH - 2)
      if (text != $0 || substr(text, 1, RSTART - 1) !~ /^ *\/\/\/ $/) offence(label ": does not begin its line")
      if (rank[label] <= last) offence(label ": stands behind a label that comes after it")
      last = rank[label]
    }
  }')

letters() { # "again, connection" as the source writes it
  sed -E 's/unknown/u/; s/again/t/; s/connection/c/; s/busy/b/; s/hidden/v/; s/, //g'
}
# Below "<!-- numbers: FILE -->", for each class of MySQL's errors the numbers that FILE puts into it: "- again, busy: 1, 2".
difference=$(diff \
  <(tr -d '\n' <src/stores/mysql/client/errors.cpp | grep -oE '\{[0-9]+, *"[a-z]+"\}' | sed -E 's/[{}"]//g; s/, */ /' | sort) \
  <(awk '/^<!-- numbers: / { inside = 1; next } inside && /^$/ { exit } inside' docs/errors.md | tr '\n' ' ' | sed 's/ - /\n- /g' |
    awk -F: '{ class = substr($1, 3); split($2, all, /[ ,]+/); for (i in all) if (all[i] != "") print all[i] " " class }' |
    letters | sort) || true)
if [ -n "$difference" ]; then
  offend "docs/errors.md:1: other numbers, or other classes of them, than src/stores/mysql/client/errors.cpp (< source, > page):"
  printf '%s\n' "$difference"
fi

difference=$(diff \
  <(sed -nE 's/^ *\{(SQLITE_[A-Z_]+), ([a-z]+), ([a-z]+), ([a-z]+), "(.*)"\},.*/\1|\2|\3|\4|\5/p' src/stores/sqlite/client/errors.cpp |
    awk -F'|' '{ class = ""
      if ($2 == "true") class = ", again"
      if ($3 == "true") class = class ", connection"
      if ($4 == "true") class = class ", busy"
      print "| " $1 " | " (class == "" ? "-" : substr(class, 3)) " | " $5 " |" }' | sort) \
  <(sed -nE 's/unknown if it was a write, //; /^\| SQLITE_/p' docs/errors.md | sort) || true)
if [ -n "$difference" ]; then
  offend "docs/errors.md:1: other result codes than src/stores/sqlite/client/errors.cpp (< source, > page):"
  printf '%s\n' "$difference"
fi

# ---- the statements of docs/protocol.md --------------------------------------------------------------------------

shared_sql=src/stores/sql/lease_sql.cpp # the statements that all databases have
lock_sql=src/stores/sql/lock_statements.cpp # those about locks, which are the same for all kinds of tables
in_one_line() { sed 's|//.*||' "$@" | tr -d '\n' | sed -E 's/[[:space:]]//g'; }
expand_words() { # text: {"greatest","GREATEST"} and constexprconstchar*grant=R"(...)" stand for {greatest} and {grant}; words have words in them
  local text=$1 word name before=
  while [ "$text" != "$before" ]; do
    before=$text
    while read -r word; do
      name=${word%%=*}
      text=${text//"{$name}"/"${word#*=}"}
    done < <(grep -oP '\{"\K[a-z_]+",("[^"]*")+(?=\})' <<<"$text" | sed -E 's/",/=/; s/"//g'
      grep -oP 'constexprconstchar\*\K[a-z_]+=R"\(.*?(?=\)";)' <<<"$text" | sed 's/R"(//')
  done
  printf '%s\n' "$text"
}
sql_of_source() { # file of a database...: its text and the shared one in one line, without blanks, with the default names of tables and columns
  # A database's words come first. Those of its batches say the same of many keys.
  expand_words "$(sed '/ batch_words\[\] = {/,/^};/d' "$@" "$shared_sql" "$lock_sql" | in_one_line | sed -E 's/\{(now|nonce)\}/:\1/g
    s/\{(lock|session|floor|waiter)\}/dlock_\1/g; s/\{(lock|session|floor|waiter)\.([a-z_]+)\}/\2/g')"
}
sql_of_page() { # heading: one line for each block below it, without blanks
  awk -v heading="## $1" '/^## / { inside = $0 == heading } !inside { next }
    /^```sql/ { code = 1; text = ""; next } /^```/ && code { print text; code = 0 } code { text = text $0 }' docs/protocol.md |
    sed -E 's/[[:space:]]//g'
}
compare_sql() { # heading, file of a database, what it uses...
  local heading=$1 source statement count=0
  shift
  source=$(sql_of_source "$@")
  while IFS= read -r statement; do
    count=$((count + 1))
    grep -qF -- "$statement" <<<"$source" || offend "docs/protocol.md:1: not in $shared_sql and $1: $statement"
  done < <(sql_of_page "$heading")
  [ $count -gt 0 ] || offend "docs/protocol.md:1: no statement below '$heading'"
}
# Below a line "<!-- sql: FILE SCHEME -->", up to the next text: of a scheme on a table of other programs, with its default names.
# FILE has the dictionaries SCHEME_words and, if it has a clock of its own, SCHEME_clock.
scheme_names() { # scheme: what its placeholders are called in the page
  local abbreviated='passed|until|no_expiry'
  case $1 in t_lock) abbreviated=passed ;; shedlock) abbreviated=until ;; esac
  echo "s/\{($abbreviated)\}/:\1/g; s/\{:key\}/:key/g; s/\{and_state\}//g"
  case $1 in
    unique_insert) echo 's/\{table\}/lock_table/g; s/\{key\}/resource/g; s/\{owner\}/lock_owner/g; s/\{expiry\}/lock_expire_time/g' ;;
    state_row) echo 's/\{table\}/lock_table/g; s/\{key\}/lock_name/g; s/\{owner\}/lock_info/g; s/\{expiry\}/expiration_time/g; s/\{state\}/lock_state/g' ;;
    shedlock) echo 's/\{table\}/shedlock/g; s/\{key\}/name/g; s/\{owner\}/locked_by/g; s/\{expiry\}/lock_until/g; s/\{since\}/locked_at/g; s/\{now\}/:now/g' ;;
    t_lock) echo 's/\{table\}/t_lock/g; s/\{key\}/lock_key/g; s/\{(now|skew)\}/:\1/g' ;;
  esac
}
words_of() { # dictionary, file
  awk -v begin="$1[] = {" 'index($0, begin) { inside = 1 } inside { print } /^};/ { inside = 0 }' "$2"
}
while IFS=: read -r line marker; do
  read -r _ _ file scheme _ <<<"$marker"
  names=$(scheme_names "$scheme")
  source=$(expand_words "$( (words_of "${scheme}_words" "$file"
    words_of "${scheme}_clock" "$file"
    words_of words_of_rows src/stores/mysql/shared_table/row_schemes.cpp
    cat "$lock_sql") | in_one_line | sed -E "$names")")
  while IFS= read -r statement; do
    grep -qF -- "R\"($statement)\"" <<<"$source" || offend "docs/mysql-schemes.md:$line: not in $file: $statement"
  done < <(awk -v at="$line" 'NR <= at { next } /^```sql/ { code = 1; text = ""; next }
      /^```/ && code { print text; code = 0; next } code { text = text $0; next } { exit }' docs/mysql-schemes.md | sed -E 's/[[:space:]]//g')
done < <(grep -nE '^<!-- sql: [^ ]+ [^ ]+ -->$' docs/mysql-schemes.md)
compare_sql 'The statements: MariaDB and MySQL' src/stores/mysql/lease_table/sql.cpp src/stores/mysql/parked/waiter_table.cpp
compare_sql 'The statements: SQLite' src/stores/sqlite/lease_table/sql.cpp

# ---- what is too long --------------------------------------------------------------------------------------------

while IFS= read -r page; do
  while IFS=: read -r line _; do
    offend "$page:$line: more than 120 columns"
  done < <(awk '/^```/ { code = !code } { print code ? "" : $0 }' "$page" | LC_ALL=C.UTF-8 grep -nE '^.{121,}' || true)
  while IFS=: read -r line cell; do
    offend "$page:$line: a table cell of more than 100 characters: ${cell:0:40}"
  done < <(awk '/^```/ { code = !code } code || !/^\|/ { next }
    { gsub(/\\\|/, "!"); cells = split($0, cell, / *\| */); for (i = 2; i < cells; i++) print NR ":" cell[i] }' "$page" |
    LC_ALL=C.UTF-8 grep -E '^[0-9]+:.{101,}' || true)
done < <(pages)

# ---- tests that pages name: between the line "<!-- tests -->" and the next heading ------------------------------------------

if [ -d tests ]; then
  # A test's text may be written as several literals.
  all_tests=$(grep -rhE -A3 '^(TEST_CASE|TEST_CASE_METHOD)\(' tests --include='*.cpp' | tr '\n' ' ' | sed -E 's/" +"//g')
  while IFS=: read -r page line _; do
    while IFS= read -r name; do
      grep -qF -- "\"$name\"" <<<"$all_tests" || offend "$page:$line: no test is called: $name"
    done < <(awk -v at="$line" 'NR <= at { next } /^#/ { exit } { print }' "$page" | grep -oE '`[^`]+`' | tr -d '`')
  done < <(grep -nE '^<!-- tests -->$' $(pages) /dev/null || true)
fi

# ---- pictures ----------------------------------------------------------------------------------------------------

if [ -f scripts/pictures.py ]; then
  while IFS= read -r offence; do offend "$offence"; done < <(python3 scripts/pictures.py --check 2>&1 || true)
fi

if [ $offences -gt 0 ]; then
  echo "check_docs: $offences offences" >&2
  exit 1
fi
