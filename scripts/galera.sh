#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# A private Galera cluster for the tests: MariaDB servers on 127.0.0.1, which scripts/lab_server.sh starts.
#   scripts/galera.sh up        starts the cluster (or finds it running); prints "export NAME=value" lines for eval
#   scripts/galera.sh status    prints the same lines, or exits with 3 if a node is down
#   scripts/galera.sh down      stops all nodes
#   scripts/galera.sh wipe      stops all nodes and removes their data
#   scripts/galera.sh node N up|down|status|wipe
#                               the same for one node
# Environment, beside what lab_server.sh has:
#   DLOCK_GALERA_NODES    how many nodes (default 3)
#   DLOCK_GALERA_OPTIONS  more provider options, for example "evs.suspect_timeout=PT2S;"
#
# A cluster that is entirely down is made anew. All nodes begin with a copy of what the first one has after a short first run, so
# that each gets what it lacks as single changes (IST). For that the server still calls a program for
# state transfers. Debian has those only in the package of the whole server, so we write a small one ourselves.
kind=galera
DLOCK_LAB_NAME=${DLOCK_LAB_NAME:-galera1}
# shellcheck source=scripts/lab_server.sh
. "$(dirname "${BASH_SOURCE[0]}")/lab_server.sh"

nodes=${DLOCK_GALERA_NODES:-3}
provider=/usr/lib/galera/libgalera_smm.so
ports=$lab/galera.ports # of each node a line: its first port for its peers

# A node that has not yet joined answers, but reads no table.
answers() { timeout 3 "${client[@]}" -e 'SELECT 1 FROM mysql.global_priv LIMIT 1' </dev/null >/dev/null 2>&1; }
find_server() {
  if ! command -v mariadbd >/dev/null || ! command -v mariadb-install-db >/dev/null || [ ! -e $provider ]; then
    die "mariadb-server-core or galera-4 is not installed; ./dev server galera up does it"
  fi
}
peers() { # of this node, and itself
  paste -sd, "$ports" | sed -E 's/[0-9]+/127.0.0.1:&/g'
}
write_config() { # port
  local base
  base=$(sed -n "${name#galera}p" "$ports")
  write_common_config mariadbd "$1"
  cat >>"$config" <<CONFIG
skip-ssl
innodb_log_file_size=64M
innodb_autoinc_lock_mode=2
binlog_format=ROW
wsrep_on=ON
wsrep_provider=$provider
wsrep_cluster_name=dlock
wsrep_cluster_address=gcomm://$(peers)
wsrep_node_name=$name
wsrep_node_address=127.0.0.1:$base
wsrep_node_incoming_address=127.0.0.1:$1
wsrep_sst_method=dlock
wsrep_provider_options="base_port=$base;gmcast.listen_addr=tcp://127.0.0.1:$base;ist.recv_addr=127.0.0.1:$((base + 1));gcache.size=128M;${DLOCK_GALERA_OPTIONS:-}"
CONFIG
}
# What a server calls to hand its state to another one, or to receive it. Here both say only from where single changes are sent.
write_transfer() {
  mkdir -p "$lab/galera.bin"
  cat >"$lab/galera.bin/wsrep_sst_dlock" <<'PROGRAM'
#!/bin/sh
bypass=0
while [ $# -gt 0 ]; do
  case $1 in
    --role | --address | --datadir | --gtid | --parent) eval "${1#--}=\$2"; shift ;;
    --bypass) bypass=1 ;;
  esac
  shift
done
if [ "$role" = donor ]; then
  [ $bypass = 1 ] || exit 95 # a whole copy
  echo "$gtid" >"$address.part" && mv "$address.part" "$address"
  echo "done $gtid"
else
  state=${datadir%/}/received
  rm -f "$state"
  echo "ready $state"
  while [ ! -e "$state" ]; do
    kill -0 "$parent" 2>/dev/null || exit 32
    sleep 0.05
  done
  cat "$state"
fi
PROGRAM
  chmod 755 "$lab/galera.bin/wsrep_sst_dlock"
}
make_data() {
  if [ "$name" != galera1 ]; then
    cp -a "$lab/galera.empty/." "$data"
    return 0
  fi
  mariadb-install-db --defaults-file="$config" --user="$(id -un)" --datadir="$data" --wsrep-on=OFF \
    --auth-root-authentication-method=normal --skip-test-db --skip-name-resolve --force \
    >"$home/install.log" 2>&1 </dev/null || { tail -20 "$home/install.log" >&2; die "mariadb-install-db failed"; }
}
drop_strangers() {
  echo "DELETE FROM mysql.global_priv WHERE User = '' OR (User = 'root' AND Host <> 'localhost'); FLUSH PRIVILEGES;"
}
server_command() {
  write_transfer
  server=(env "PATH=$lab/galera.bin:$PATH" mariadbd)
}

# ---- the cluster ----------------------------------------------------------------------------------------------------

node() { # number verb
  DLOCK_LAB_NAME=galera$1 "$BASH" "${BASH_SOURCE[0]}" node "$1" "$2"
}
each_node() { seq 1 "$nodes"; }
running_nodes() {
  local number
  for number in $(each_node); do
    if node "$number" status >/dev/null 2>&1; then printf '%s ' "$number"; fi
  done
}
choose_ports() {
  local number base attempt=7
  : >"$ports"
  for number in $(each_node); do
    base=$(free_port "$attempt")
    printf '%s\n' "$base" >>"$ports"
    attempt=$((attempt + 2)) # one port more for what a node has missed
  done
}
found_cluster() { DLOCK_LAB_OPTIONS="${DLOCK_LAB_OPTIONS:-} --wsrep-new-cluster" node 1 up >/dev/null; }
cluster_up() {
  local number
  find_server
  # An owner's nodes are its own: "up" of a running node would start it again, and a first node needs found_cluster for that.
  if [ -n "${DLOCK_LAB_OWNER_PID:-}" ]; then cluster_down; fi
  if [ -z "$(running_nodes)" ]; then
    cluster_wipe
    choose_ports
    found_cluster
    node 1 down
    cp -a "$lab/galera1/data" "$lab/galera.empty"
    rm -f "$lab/galera.empty/galera.cache"
    found_cluster
  fi
  for number in $(each_node); do
    node "$number" status >/dev/null 2>&1 || node "$number" up >/dev/null
  done
  cluster_status
}
cluster_status() {
  local number port list=
  for number in $(each_node); do
    node "$number" status >/dev/null || return $?
    port=$(cat "$lab/galera$number/port")
    list="$list $port"
  done
  list=${list# }
  cat <<EXPORTS
export DLOCK_TEST_GALERA_PORTS='$list'
export DLOCK_TEST_GALERA_URL='mysql://dlock_app:app-pw@127.0.0.1:${list// /,127.0.0.1:}/locks'
export DLOCK_TEST_GALERA_OWNER_URL='mysql://dlock_owner:owner-pw@127.0.0.1:${list// /,127.0.0.1:}/locks'
EXPORTS
}
cluster_down() { # the first one last: then nothing is missing there
  local number
  for number in $(each_node | tac); do node "$number" down; done
}
cluster_wipe() {
  local number
  for number in $(each_node | tac); do node "$number" wipe; done
  rm -rf "$lab/galera.empty" "$lab/galera.bin" "$ports"
}

case "${1:-}" in
  node)
    case "${2:-}" in '' | *[!0-9]*) die "node '${2:-}': a number is wanted" ;; esac
    DLOCK_LAB_NAME=galera$2
    if [ "$name" != "$DLOCK_LAB_NAME" ]; then node "$2" "${3:-}"; else main "${3:-}"; fi
    ;;
  up | status | down | wipe) "cluster_$1" ;;
  stop-all) stop_all ;;
  *)
    echo "usage: $script up|status|down|wipe|node N up|down|status|wipe|stop-all" >&2
    exit 2
    ;;
esac
