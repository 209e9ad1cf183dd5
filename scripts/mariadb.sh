#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# A private MariaDB server for the tests; scripts/lab_server.sh tells the verbs and the environment.
kind=mariadb
# shellcheck source=scripts/lab_server.sh
. "$(dirname "${BASH_SOURCE[0]}")/lab_server.sh"

find_server() {
  if ! command -v mariadbd >/dev/null || ! command -v mariadb-install-db >/dev/null; then
    die "mariadb-server-core is not installed; ./dev setup does it"
  fi
}
write_config() { # port
  write_common_config mariadbd "$1"
  cat >>"$config" <<CONFIG
# the same for every release: from 11.4 on a server makes itself a certificate
skip-ssl
innodb_log_file_size=64M
CONFIG
}
make_data() {
  mariadb-install-db --defaults-file="$config" --user="$(id -un)" --datadir="$data" \
    --auth-root-authentication-method=normal --skip-test-db --skip-name-resolve --force \
    >"$home/install.log" 2>&1 </dev/null || { tail -20 "$home/install.log" >&2; die "mariadb-install-db failed"; }
}
drop_strangers() {
  echo "DELETE FROM mysql.global_priv WHERE User = '' OR (User = 'root' AND Host <> 'localhost'); FLUSH PRIVILEGES;"
}
server_command() { server=(mariadbd); }

main "$@"
