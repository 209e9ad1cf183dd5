#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# What the private database servers of the tests have in common; scripts/mariadb.sh and scripts/mysql9.sh read it. Each has
# its own data, port and socket; the system's servers and their configuration are neither read nor touched.
#   <script> up        starts it (or finds it running); prints "export NAME=value" lines for eval
#   <script> status    the same lines, or exit code 3 when it is down
#   <script> down      stops it, keeps the data
#   <script> wipe      stops it, removes the data
#   <script> stop-all  stops every server of this user that either script ever started here
# Environment:
#   DLOCK_LAB_DIR     folder of the data                       (default build/lab)
#   DLOCK_LAB_NAME    name of the server, so that several can run     (default mariadb or mysql9)
#   DLOCK_LAB_OPTIONS more server options, e.g. "--innodb-snapshot-isolation=ON"; they count when it really starts
#   DLOCK_LAB_OWNER_PID  a process to live with: the server stops soon after that process is gone
# Root of such a server has no password and is reachable over the socket only.
#
# The script that reads this has set `kind` (mariadb, mysql9) and defines:
#   find_server         makes sure that the server's programs are there, or dies
#   write_config PORT   writes $config
#   make_data           fills an empty $data
#   drop_strangers      SQL that removes users the tests don't know
#   server_command      sets the array `server` to what starts it
set -euo pipefail
export LC_ALL=C
umask 077

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
script=$kind.sh
lab=${DLOCK_LAB_DIR:-$root/build/lab}
name=${DLOCK_LAB_NAME:-$kind}
die() { printf '%s: %s\n' "$script" "$*" >&2; exit 1; }
case $name in '' | *[!a-zA-Z0-9_-]*) echo "$script: DLOCK_LAB_NAME '$name': letters, digits, _ and - only" >&2; exit 2 ;; esac
mkdir -p "$lab"
lab=$(cd "$lab" && pwd -P)
home=$lab/$name
data=$home/data
config=$home/server.cnf
log=$home/server.log
# A socket's path is limited to about 107 bytes, which a build folder may exceed, so it stands in a short one.
# The folder's name is drawn from the data's, so every call finds it again.
short=${TMPDIR:-/tmp}
if [ ${#short} -gt 60 ]; then short=/tmp; fi
runtime_of() { printf %s "$short/dlock-lab-$(id -u)-$(printf %s "$1" | cksum | tr ' ' -)"; } # home
runtime=$(runtime_of "$home")
socket=$runtime/s

# ---- the process ------------------------------------------------------------------------------------------------

running() { # pid: alive and no zombie
  case "$(sed 's/.*) //;s/ .*//' "/proc/$1/stat" 2>/dev/null)" in '' | Z | X) return 1 ;; esac
}
is_server() { # pid config: a number may have been given to another process since
  running "$1" && tr '\0' '\n' <"/proc/$1/cmdline" 2>/dev/null | grep -qxF -- "--defaults-file=$2"
}
server_pid() {
  local pid
  pid=$(cat "$home/pid" 2>/dev/null || true)
  if [ -n "$pid" ] && is_server "$pid" "$config"; then printf %s "$pid"; fi
}
# From 11.4 on the client wants TLS even over the socket, and a server may be told to offer none.
client=(mariadb --no-defaults --skip-ssl --protocol=socket -S "$socket" -u root -NB)
answers() { timeout 3 "${client[@]}" -e 'SELECT 1' </dev/null >/dev/null 2>&1; }
answers_at_last() { # on a machine that stalls, too
  local attempt
  for attempt in 1 2 3 4 5 6 7 8 9 10; do
    if answers; then return 0; fi
    if [ "$attempt" -lt 10 ]; then sleep 0.3; fi
  done
  return 1
}
stop_process() { # pid
  local waited
  kill -CONT "$1" 2>/dev/null || true # a test may have stopped it in mid-flight
  kill -TERM "$1" 2>/dev/null || true
  for ((waited = 0; waited < 300; waited++)); do
    running "$1" || return 0
    sleep 0.1
  done
  kill -KILL "$1" 2>/dev/null || true
}
# Below the ports that the system gives to connections: one of those may be taken by a client, which nobody who knocks sees.
free_port() { # attempt: each looks elsewhere
  local port
  for ((port = 21100 + ($$ * 7 + $1 * 997) % 10000; port < 32000; port++)); do
    if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
      printf %s "$port"
      return 0
    fi
  done
  die "no free port between 21100 and 32000"
}

# ---- up -----------------------------------------------------------------------------------------------------------

write_common_config() { # section port: what both kinds of server understand
  cat >"$config" <<CONFIG
[$1]
datadir=$data
socket=$socket
port=$2
bind-address=127.0.0.1
pid-file=$home/server.pid
log-error=$log
tmpdir=$home/tmp
skip-name-resolve
max_connections=1000
innodb_buffer_pool_size=128M
# a commit that the tests saw is on the disk: fencing tokens depend on it
innodb_flush_log_at_trx_commit=1
CONFIG
}
make_users() {
  local host
  {
    drop_strangers
    echo "CREATE DATABASE IF NOT EXISTS locks; CREATE DATABASE IF NOT EXISTS app;"
    for host in 127.0.0.1 localhost; do
      sed -e "s/@HOST@/$host/g; s/@LOCKS@/locks/g; s/@OWNER@/dlock_owner/g; s/@APP@/dlock_app/g" \
        -e "s/@OWNER_PASSWORD@/owner-pw/g; s/@APP_PASSWORD@/app-pw/g" "$root/sql/grants.sql"
      # the samples' and tests' own tables, which dlock itself never needs
      echo "GRANT ALL ON app.* TO 'dlock_owner'@'$host'; GRANT ALL ON app.* TO 'dlock_app'@'$host';"
    done
  } | timeout 60 "${client[@]}"
}
start_process() { # port
  local pid waited server=()
  server_command
  # A session of its own: Ctrl-C at the terminal reaches the tests, which still need the server to finish.
  # No descriptor is inherited, or a pipe that somebody reads from us would stay open as long as the server.
  # shellcheck disable=SC2086
  setsid "${server[@]}" --defaults-file="$config" --user="$(id -un)" ${DLOCK_LAB_OPTIONS:-} \
    </dev/null >>"$home/stdout.log" 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
  pid=$!
  printf '%s\n' "$pid" >"$home/pid"
  for ((waited = 0; waited < 600; waited++)); do
    if answers; then return 0; fi
    if ! running "$pid"; then
      if grep -qi 'address already in use' "$log" 2>/dev/null; then return 1; fi
      break
    fi
    sleep 0.1
  done
  stop_process "$pid"
  tail -30 "$log" >&2
  die "the server does not start, see $log"
}
watch_owner() { # stops the server when the process that wanted it is gone without saying so
  [ -n "${DLOCK_LAB_OWNER_PID:-}" ] || return 0
  local server
  server=$(server_pid)
  (
    while running "$DLOCK_LAB_OWNER_PID" && running "$server"; do sleep 1; done
    if is_server "$server" "$config"; then stop_process "$server"; fi
  ) </dev/null >/dev/null 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
  disown
}
up() {
  local port attempt
  find_server
  mkdir -p "$home/tmp" "$runtime"
  [ -O "$runtime" ] || die "$runtime belongs to somebody else"
  exec 9>"$home/lock"
  flock 9
  # Left over from a killed run: stopped, or on its way out. Whoever wants one to live with him takes over no other's, which ends
  # with its own owner.
  if [ -n "$(server_pid)" ] && { [ -n "${DLOCK_LAB_OWNER_PID:-}" ] || ! answers_at_last; }; then
    stop_process "$(server_pid)"
  fi
  if [ -z "$(server_pid)" ]; then
    for attempt in 1 2 3; do # somebody may take the port between our look and the server's
      port=$(free_port "$attempt")
      write_config "$port"
      if [ ! -e "$home/ready" ]; then # an interrupted creation left something unusable
        rm -rf "$data"
        mkdir -p "$data"
        make_data
      fi
      : >"$log"
      rm -f "$socket.lock" # after a kill it names a process that may still be there as a zombie
      if start_process "$port"; then break; fi
      [ "$attempt" -lt 3 ] || die "no port could be had"
    done
    printf '%s\n' "$port" >"$home/port"
    make_users
    : >"$home/ready"
    watch_owner
  fi
  flock -u 9
  status
}

# ---- the other verbs --------------------------------------------------------------------------------------------

status() {
  local pid port prefix=DLOCK_TEST_MYSQL
  if [ "$kind" = mysql9 ]; then prefix=DLOCK_TEST_MYSQL9; fi
  pid=$(server_pid)
  if [ -z "$pid" ]; then
    echo "$script: $name is down" >&2
    return 3
  fi
  answers_at_last || die "the server (pid $pid) does not answer"
  port=$(cat "$home/port")
  cat <<EXPORTS
export ${prefix}_URL='mysql://dlock_app:app-pw@127.0.0.1:$port/locks'
export ${prefix}_OWNER_URL='mysql://dlock_owner:owner-pw@127.0.0.1:$port/locks'
export ${prefix}_APP_URL='mysql://dlock_app:app-pw@127.0.0.1:$port/app'
export ${prefix}_PORT='$port'
export ${prefix}_SOCKET='$socket'
export ${prefix}_ROOT_SOCKET='$socket'
export ${prefix}_PID='$pid'
EXPORTS
}
down() {
  local pid
  pid=$(server_pid)
  if [ -n "$pid" ]; then stop_process "$pid"; fi
  rm -f "$home/pid" "$home/port"
  rm -rf "$runtime"
}
stop_all() {
  local folder pid
  for folder in "$lab"/*/; do
    folder=${folder%/}
    pid=$(cat "$folder/pid" 2>/dev/null || true)
    if [ -n "$pid" ] && is_server "$pid" "$folder/server.cnf"; then stop_process "$pid"; fi
    rm -f "$folder/pid" "$folder/port"
    rm -rf "$(runtime_of "$folder")"
  done
}

main() {
  case "${1:-}" in
    up) up ;;
    status) status ;;
    down) down ;;
    wipe)
      down
      rm -rf "$home"
      ;;
    stop-all) stop_all ;;
    *)
      echo "usage: $script up|status|down|wipe|stop-all" >&2
      exit 2
      ;;
  esac
}
