#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# A private MySQL server for the tests; scripts/lab_server.sh tells the verbs and the environment. Two more verbs:
#   scripts/mysql9.sh fetch      only fetches the server's programs
#   scripts/mysql9.sh purge      stops it, removes its data and the programs
#
# Debian has MySQL in its unstable suite alone. So the server's package and all that it needs, the C library too, are
# fetched from the mirror that apt already uses and unpacked into a folder, and the server runs by that folder's own
# dynamic loader: nothing of it is installed, no root is needed, and apt's configuration is not changed. On Ubuntu it is
# the MySQL of the release itself (8.0 on 24.04), unpacked in the same way.
# Environment, beside what lab_server.sh has:
#   DLOCK_CACHE_DIR     where the unpacked programs stay (default ~/.cache/dlock): some 260 MB, fetched once
#   DLOCK_MYSQL9_SUITE  another suite of the mirror to take it from
kind=mysql9
# shellcheck source=scripts/lab_server.sh
. "$(dirname "${BASH_SOURCE[0]}")/lab_server.sh"
# shellcheck source=scripts/apt_entry.sh
. "$root/scripts/apt_entry.sh"

cache=${DLOCK_CACHE_DIR:-${XDG_CACHE_HOME:-${HOME:-$root/build}/.cache}/dlock}
# shellcheck disable=SC1091
release=$(. /etc/os-release && echo "${ID:-} ${VERSION_CODENAME:-}")
suite=${DLOCK_MYSQL9_SUITE:-sid}
if [ -z "${DLOCK_MYSQL9_SUITE:-}" ] && [ "${release%% *}" = ubuntu ]; then suite=${release#* }; fi
tree=$cache/mysql9-$suite-$(uname -m)

no_server() { # why
  die "no MySQL server can be had: $1. DLOCK_MYSQL9=off lets ./dev go without one, and without the tests that need it"
}

# ---- the programs -------------------------------------------------------------------------------------------------

# apt with a configuration, lists and a package state of its own, so that everything counts as missing.
private_apt() { # folder; sets the array `apt`
  mkdir -p "$1"/{lists/partial,archives/partial,sources,preferences,debs}
  : >"$1/status"
  apt=(apt-get -qq -o "Dir::Etc::sourcelist=$1/sources.list" -o "Dir::Etc::sourceparts=$1/sources"
    -o "Dir::Etc::preferences=$1/preferences.txt" -o "Dir::Etc::preferencesparts=$1/preferences"
    -o "Dir::State=$1" -o "Dir::State::lists=$1/lists" -o "Dir::State::status=$1/status"
    -o "Dir::State::extended_states=$1/extended_states" -o "Dir::Cache=$1" -o "Dir::Cache::archives=$1/archives"
    -o "APT::Install-Recommends=0" -o "APT::Sandbox::User=$(id -un)" -o "Acquire::Languages=none"
    -o "APT::Update::Error-Mode=any")
}
update_index() { # folder
  local entry place format=list text
  entry=$(own_entry "${release#* }")
  if [ -z "$entry" ]; then # a machine whose lists were removed to save room
    if [ "$(id -u)" = 0 ]; then apt-get -qq update || true; else sudo -n apt-get -qq update || true; fi
    entry=$(own_entry "${release#* }")
  fi
  [ -n "$entry" ] || no_server "apt has no source for this release's main component"
  place=${entry#*|}
  if [[ ${place%:*} == *.sources ]]; then format=sources; fi
  suite_entry "${place%:*}" "${place##*:}" "${entry%%|*}" "$suite" "" >"$1/sources/mysql.$format"
  if text=$("${apt[@]}" update 2>&1); then return 0; fi
  # A mirror frozen at some day may carry an index past its date; its signature still counts.
  if grep -qi 'expired\|not valid anymore' <<<"$text"; then
    apt+=(-o Acquire::Check-Valid-Until=false)
    if text=$("${apt[@]}" update 2>&1); then return 0; fi
  fi
  printf '%s\n' "$text" | tail -5 >&2
  no_server "the mirror does not give its suite $suite"
}
packages() { # what an installation into an empty machine would bring, less what only its scripts need
  local package
  for package in mysql-server-core mysql-server-core-{9.7,9.0,8.4,8.0}; do
    "${apt[@]}" -s install "$package" 2>/dev/null |
      awk '$1 == "Inst" { version = $3; sub(/^\(/, "", version); print $2 "=" version }' |
      grep -Ev '^(perl|libperl|libgdbm|libc-gconv|gcc-[0-9]+-base)' && return 0
  done
  no_server "the mirror's suite $suite has no package mysql-server-core that can be installed"
}
fetch() {
  local work apt=() list package file
  [ ! -e "$tree/complete" ] || return 0
  if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then no_server "this script knows apt only"; fi
  mkdir -p "$cache"
  exec 7>"$tree.lock"
  flock 7 # two of us would fetch into one folder
  if [ -e "$tree/complete" ]; then flock -u 7; return 0; fi
  printf '%s: fetching MySQL into %s, once\n' "$script" "$tree" >&2
  work=$tree.fetching
  rm -rf "$work" "$tree"
  private_apt "$work/apt"
  update_index "$work/apt"
  list=$(packages)
  # shellcheck disable=SC2086
  (cd "$work/apt/debs" && "${apt[@]}" download $list >/dev/null) || no_server "a package could not be downloaded"
  mkdir "$work/tree"
  for file in "$work"/apt/debs/*.deb; do
    dpkg-deb --fsys-tarfile "$file" | tar -x -C "$work/tree" --no-same-owner \
      --exclude='./usr/share/doc' --exclude='./usr/share/man' --exclude='./usr/share/locale'
  done
  mv "$work/tree" "$tree"
  rm -rf "$work"
  if [ -z "$(loader)" ] || [ ! -x "$tree/usr/sbin/mysqld" ]; then no_server "the packages lack mysqld or its loader"; fi
  for package in $list; do printf '%s\n' "$package"; done >"$tree/complete"
  flock -u 7
}
loader() {
  local file
  for file in "$tree"{/usr,}/lib64/ld-linux-*.so.* "$tree"{/usr,}/lib{,/*}/ld-linux-*.so.*; do
    if [ -x "$file" ]; then printf %s "$file"; return 0; fi
  done
}
libraries() {
  local triplet
  triplet=$(uname -m)-linux-gnu
  printf %s "$tree/usr/lib/$triplet:$tree/lib/$triplet:$tree/usr/lib:$tree/lib"
}

# ---- the server ---------------------------------------------------------------------------------------------------

find_server() {
  command -v mariadb >/dev/null || die "mariadb-client-core is not installed; ./dev setup does it"
  fetch
}
write_config() { # port
  write_common_config mysqld "$1"
  cat >>"$config" <<CONFIG
basedir=$tree/usr
lc-messages-dir=$tree/usr/share/mysql
character-sets-dir=$tree/usr/share/mysql/charsets
plugin-dir=$tree/usr/lib/mysql/plugin
mysqlx=OFF
secure-file-priv=NULL
innodb_redo_log_capacity=64M
CONFIG
}
make_data() {
  local server=()
  server_command
  "${server[@]}" --defaults-file="$config" --user="$(id -un)" --initialize-insecure \
    >"$home/install.log" 2>&1 </dev/null || { tail -20 "$log" "$home/install.log" >&2; die "mysqld --initialize failed"; }
}
drop_strangers() { :; }
server_command() { server=("$(loader)" --library-path "$(libraries)" "$tree/usr/sbin/mysqld"); }

case "${1:-}" in
  fetch) fetch ;;
  purge)
    down
    rm -rf "$home" "$tree" "$tree.fetching" "$tree.lock"
    ;;
  *) main "$@" ;;
esac
