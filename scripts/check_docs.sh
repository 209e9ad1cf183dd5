#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# What keeps the documentation true:
#   - a code block after the line <!-- region: FILE NAME --> equals the lines of FILE between "// [NAME]" and
#     "// [/NAME]", and every C++ block of README.md has such a line;
#   - links to files and headings of this repository lead somewhere, and README.md leads to every page of docs/;
#   - error codes, reasons of loss, events and what is set for MySQL's connections are in the page that explains them,
#     URL parameters in the header of a store, and the classes of MySQL's error numbers in docs/errors.md are those of the source;
#   - the statements in docs/protocol.md are those of the source;
#   - the tests that a page names exist;
#   - the pictures are what scripts/pictures.py draws.
# Prints each offence as file:line: text; exit code 1 when there is one. DLOCK_DOCS_ROOT: another folder, for its tests.
set -euo pipefail
export LC_ALL=C
cd "${DLOCK_DOCS_ROOT:-$(dirname "${BASH_SOURCE[0]}")/..}"

offences=0
offend() {
  printf '%s\n' "$1"
  offences=$((offences + 1))
}
pages() { find README.md CHANGELOG.md CONTRIBUTING.md docs samples tests/README.md -name '*.md' 2>/dev/null | sort; }

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
for page in docs/*.md CHANGELOG.md CONTRIBUTING.md; do
  grep -qF "]($page" README.md || offend "README.md:1: no link to $page"
done

# ---- names that a page must explain ----------------------------------------------------------------------------

enumerators() { # header "enum class name": its enumerators
  awk -v from="$2" 'index($0, from " {") { inside = 1; next } inside && /};/ { exit }
    inside { sub(/\/\/.*/, ""); gsub(/[ ,]/, ""); sub(/=.*/, ""); if ($0 != "") print }' "$1"
}
fields() { # header struct: its fields that have a default
  awk -v from="struct $2 {" 'index($0, from) == 1 { inside = 1; next } inside && /^};/ { exit }
    inside { sub(/\/\/.*/, "") } inside && /[{=].*;/ { sub(/ *[{=].*/, ""); print $NF }' "$1"
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
# A store's header lists the parameters of its URL.
while IFS= read -r name; do
  grep -rqwF -- "$name" include/dlock/stores || offend "include/dlock/stores:1: no header explains the URL parameter $name"
done < <(grep -rhoE 'take_(param|number|timeout)\((url, )?"[a-z_]+"' --include='*.cpp' src/stores | sed -E 's/.*"(.*)"/\1/' | sort -u)
sed -nE 's/^ *\{[a-z_0-9| ]+, \{"([a-z_]+)".*/\1/p' src/stores/mysql/client/session.cpp | sort -u |
  expect_in docs/operations.md '`%s`'

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

sql_of_source() { # file: its text in one line, without blanks, with the default names of tables and columns
  local text grant
  text=$(sed 's|//.*||' "$1" | tr -d '\n' | sed -E 's/[[:space:]]//g; s/\{now\}/:now/g
    s/\{(lock|session|floor)\}/dlock_\1/g; s/\{(lock|session|floor)\.([a-z_]+)\}/\2/g')
  grant=$(grep -oP 'grant=R"\(\K.*?(?=\)";)' <<<"$text")
  printf '%s\n' "${text//\{grant\}/$grant}"
}
sql_of_page() { # heading: one line for each block below it, without blanks
  awk -v heading="## $1" '/^## / { inside = $0 == heading } !inside { next }
    /^```sql/ { code = 1; text = ""; next } /^```/ && code { print text; code = 0 } code { text = text $0 }' docs/protocol.md |
    sed -E 's/[[:space:]]//g'
}
compare_sql() { # file heading
  local source statement count=0
  source=$(sql_of_source "$1")
  while IFS= read -r statement; do
    count=$((count + 1))
    grep -qF -- "$statement" <<<"$source" || offend "docs/protocol.md:1: not in $1: $statement"
  done < <(sql_of_page "$2")
  [ $count -gt 0 ] || offend "docs/protocol.md:1: no statement below '$2'"
}
# Below a line "<!-- sql: FILE SCHEME -->", up to the next text: of a scheme on a table of other programs, with its default names.
scheme_names() { # scheme: what its placeholders are called in the page
  case $1 in
    unique_insert) echo 's/\{table\}/lock_table/g; s/\{key\}/resource/g; s/\{owner\}/lock_owner/g; s/\{expiry\}/lock_expire_time/g; s/\{state\}//g' ;;
    state_row) echo 's/\{table\}/lock_table/g; s/\{key\}/lock_name/g; s/\{owner\}/lock_info/g; s/\{expiry\}/expiration_time/g; s/\{state\}/lock_state/g' ;;
    t_lock) echo 's/\{table\}/t_lock/g' ;;
  esac
}
while IFS=: read -r line marker; do
  read -r _ _ file scheme _ <<<"$marker"
  source=$(sed 's|^ *//.*||' "$file" | tr -d '\n' | sed -E "s/[[:space:]]//g; $(scheme_names "$scheme"); s/\{:?([a-z_]+)\}/:\1/g")
  while IFS= read -r statement; do
    grep -qF -- "R\"($statement)\"" <<<"$source" || offend "docs/mysql-schemes.md:$line: not in $file: $statement"
  done < <(awk -v at="$line" 'NR <= at { next } /^```sql/ { code = 1; text = ""; next }
      /^```/ && code { print text; code = 0; next } code { text = text $0; next } { exit }' docs/mysql-schemes.md | sed -E 's/[[:space:]]//g')
done < <(grep -nE '^<!-- sql: [^ ]+ [^ ]+ -->$' docs/mysql-schemes.md)
compare_sql src/stores/mysql/lease_table/sql.cpp 'The statements: MariaDB and MySQL'
compare_sql src/stores/sqlite/lease_table/sql.cpp 'The statements: SQLite'

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
