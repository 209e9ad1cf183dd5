// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/client/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include "stores/findings.hpp"

namespace dlock::stores::mysql {

namespace {

using texts = std::map<std::string, std::string, std::less<>>;

constexpr std::array examined_variables{"innodb_flush_log_at_trx_commit",
                                        "sync_binlog",
                                        "log_bin",
                                        "binlog_format",
                                        "read_only",
                                        "innodb_read_only",
                                        "super_read_only",
                                        "max_connections",
                                        "max_prepared_stmt_count",
                                        "hostname",
                                        "server_id",
                                        "wsrep_on",
                                        "rpl_semi_sync_master_enabled",
                                        "rpl_semi_sync_source_enabled",
                                        "group_replication_group_name",
                                        "group_replication_single_primary_mode",
                                        "group_replication_consistency",
                                        "init_connect",
                                        "innodb_deadlock_detect",
                                        "version",
                                        "version_comment",
                                        "wait_timeout"};
constexpr std::array examined_states{
    "Threads_connected",  "Max_used_connections", "Prepared_stmt_count", "Slaves_connected",
    "wsrep_cluster_size", "wsrep_cluster_status", "wsrep_ready",         "Uptime"};

template <std::size_t Count>
std::string listed(const std::array<const char*, Count>& names) {
  std::string text;
  for (const char* const each : names) text += fmt::format("{}'{}'", text.empty() ? "" : ", ", each);
  return text;
}

std::string get(const texts& from, std::string_view name) {
  const auto found = from.find(name);
  return found == from.end() ? std::string{} : found->second;
}
long number(const texts& from, std::string_view name) { return std::strtol(get(from, name).c_str(), nullptr, 10); }
bool is_on(const texts& from, std::string_view name) { return get(from, name) == "ON" || get(from, name) == "1"; }

/// "10.11" of "10.11.6-MariaDB-0+deb12u1", as 1011.
int release_of(const std::string& version) {
  char* rest = nullptr;
  const long major = std::strtol(version.c_str(), &rest, 10);
  const long minor = *rest == '.' ? std::strtol(rest + 1, nullptr, 10) : 0;
  return static_cast<int>(major * 100 + minor);
}

class examination {
 public:
  examination(mysql_connection& with, const mysql_settings& settings, std::vector<store_finding>& found)
      : with_(with), settings_(settings), found_(found) {}

  reply run() {
    read(fmt::format("SHOW GLOBAL VARIABLES WHERE Variable_name IN ({})", listed(examined_variables)), variables_);
    read(fmt::format("SHOW GLOBAL STATUS WHERE Variable_name IN ({})", listed(examined_states)), states_);
    read("SHOW SESSION STATUS LIKE 'Ssl_cipher'", states_);
    if (answer_.result != outcome::yes) return answer_;
    check_version();
    check_durability();
    check_isolation();
    check_writes();
    check_clock();
    check_limits();
    check_timeouts();
    check_rights();
    check_replicas();
    check_cluster();
    check_tls();
    check_identity();
    return answer_;
  }

 private:
  bool ask(const std::string& sql, mysql_rows& rows) {
    fault why;
    ++answer_.statements;
    const auto result = with_.query(sql, "examine", &rows, nullptr, why);
    if (result == outcome::yes) return true;
    if (why.connection) {
      answer_.result = result;
      answer_.why = why;
    }
    return false;
  }

  void read(const std::string& sql, texts& into) {
    mysql_rows rows;
    if (answer_.result != outcome::yes || !ask(sql, rows)) return;
    for (const auto& row : rows) into[row.at(0).value_or("")] = row.at(1).value_or("");
  }

  bool mariadb() const { return get(variables_, "version").find("MariaDB") != std::string::npos; }

  void check_version() {
    const auto version = get(variables_, "version");
    const auto value = fmt::format("{} {}", mariadb() ? "MariaDB" : "MySQL", version);
    const int release = release_of(version);
    if (mariadb() ? release >= 1005 : release >= 800) return found_.good("version", value);
    found_.warning("version", value, "dlock is tested on MariaDB 10.5 and later and on MySQL 8.0 and later.",
                   "Upgrade the server.");
  }

  void check_durability() {
    const auto flush = get(variables_, "innodb_flush_log_at_trx_commit");
    auto value = fmt::format("innodb_flush_log_at_trx_commit = {}", flush);
    if (is_on(variables_, "log_bin")) value += fmt::format(", sync_binlog = {}", get(variables_, "sync_binlog"));
    if (flush == "1") {
      return found_.good("durability", value, "A confirmed grant survives a crash of the server.");
    }
    found_.warning("durability", value,
                   flush == "0" ? "After a crash of the server process the grants of about the last second are gone, "
                                  "and their keys can be granted again while the first holder still trusts its lease."
                                : "After a crash of the machine the grants of about the last second are gone, and "
                                  "their keys can be granted again while the first holder still trusts its lease.",
                   "Set innodb_flush_log_at_trx_commit = 1, or check the fencing token where it matters.");
  }

  void check_isolation() {
    mysql_rows rows;
    const bool asked =
        ask(mariadb() ? "SELECT @@tx_isolation, @@autocommit" : "SELECT @@transaction_isolation, @@autocommit", rows);
    if (!asked || rows.empty()) return;
    const auto value = fmt::format("{}, autocommit = {}", rows[0].at(0).value_or(""), rows[0].at(1).value_or(""));
    if (rows[0].at(1) == "1") return found_.good("isolation", value, "Of dlock's own connections.");
    found_.problem("isolation", value, "A proxy between dlock and the server does not pass on the session settings.",
                   "Let dlock connect to the server directly, or configure the proxy to keep sessions apart.");
  }

  void check_writes() {
    for (const char* const name : {"read_only", "innodb_read_only", "super_read_only"}) {
      if (!is_on(variables_, name)) continue;
      return found_.problem("writes", fmt::format("{} = ON", name), "The server grants no key and renews no session.",
                            "Name the primary in the URL, or set the variable to OFF there.");
    }
    const auto format = get(variables_, "binlog_format");
    if (is_on(variables_, "log_bin") && format == "STATEMENT") {
      return found_.problem("writes", "binlog_format = STATEMENT",
                            "The server refuses writes in READ COMMITTED (error 1665).",
                            "Set binlog_format to ROW or MIXED.");
    }
    found_.good("writes",
                is_on(variables_, "log_bin") ? "read_only = OFF, binlog_format = " + format : "read_only = OFF");
  }

  void check_clock() {
    mysql_rows rows;
    const auto before = std::chrono::system_clock::now();
    if (!ask(std::string("SELECT ") + server_clock, rows) || rows.empty()) return;
    const auto after = std::chrono::system_clock::now();
    const auto here = std::chrono::duration<double>((before + (after - before) / 2).time_since_epoch()).count();
    const double there = std::strtod(rows[0].at(0).value_or("0").c_str(), nullptr) / 1e6;
    const auto value =
        fmt::format("{:.3f} s {} this host's clock", std::abs(there - here), there < here ? "behind" : "ahead of");
    if (std::abs(there - here) < 1) return found_.good("clock", value);
    found_.note(
        "clock", value,
        "Leases use the server's clock alone, so they are not affected. Programs that share the table t_lock use "
        "their own clocks.",
        "Synchronise both hosts by chrony or systemd-timesyncd.");
  }

  void check_limits() {
    const long most = number(variables_, "max_connections"), used = number(states_, "Threads_connected");
    const long peak = number(states_, "Max_used_connections");
    auto value = fmt::format("{} of {}, at most {} so far", used, most, peak);
    if (most > 0 && peak * 10 >= most * 9) {
      found_.warning("connections", value,
                     "When none is left, a program that starts gets no locks, and one whose connection broke loses "
                     "its leases at the end of their ttl.",
                     "Raise max_connections, or lower service_options::connections.");
    } else {
      found_.good("connections", value);
    }
    const long statements = number(variables_, "max_prepared_stmt_count"),
               prepared = number(states_, "Prepared_stmt_count");
    value = fmt::format("{} of {}", prepared, statements);
    if (prepared * 10 < statements * 9) return found_.good("prepared statements", value);
    found_.note("prepared statements", value, "Without them dlock sends each statement as text, which takes longer.",
                "Raise max_prepared_stmt_count.");
  }

  void check_timeouts() {
    mysql_rows rows;
    if (!ask("SELECT @@innodb_lock_wait_timeout, @@lock_wait_timeout, @@wait_timeout", rows) || rows.empty()) return;
    const auto& ours = rows[0];
    const auto value = fmt::format(
        "row locks {} s, schema locks {} s, idle connections {} s (the server's default {} s)", ours.at(0).value_or(""),
        ours.at(1).value_or(""), ours.at(2).value_or(""), get(variables_, "wait_timeout"));
    const auto seconds = [&](std::size_t column) {
      return std::strtol(ours.at(column).value_or("0").c_str(), nullptr, 10);
    };
    // dlock's connections set 1 s, 2 s and 8 hours.
    if (seconds(0) <= 5 && seconds(2) >= 600) {
      return found_.good("timeouts", value, "The settings of dlock's connections.");
    }
    found_.warning("timeouts", value, "A proxy between dlock and the server does not pass on the session's timeouts.",
                   "Let dlock connect to the server directly, or configure the proxy to keep sessions apart.");
  }

  void check_rights() {
    mysql_rows rows;
    if (!ask("SHOW GRANTS", rows)) return;
    std::string all;
    for (const auto& row : rows) all += row.at(0).value_or("") + "\n";
    const auto has = [&](std::string_view text) { return all.find(text) != std::string::npos; };
    for (const auto right : {"ALL PRIVILEGES ON *.*", "SUPER", "READ ONLY ADMIN", "READ_ONLY ADMIN", "CONNECTION_ADMIN",
                             "CONNECTION ADMIN"}) {
      if (!has(right)) continue;
      return found_.note("rights", fmt::format("the user has {}", right),
                         "Such a user may write to a server that is read-only: after a switch-over an open connection "
                         "may still get the first grant of a new key there, for one ttl at most.",
                         "Give the user the rights of sql/grants.sql alone: dlock schema --user NAME prints them.");
    }
    found_.good("rights", fmt::format("{} grants; none of them allows writes on a read-only server", rows.size()));
  }

  void check_replicas() {
    const bool semi =
        is_on(variables_, "rpl_semi_sync_master_enabled") || is_on(variables_, "rpl_semi_sync_source_enabled");
    const auto count = get(states_, "Slaves_connected");
    const bool replicas = !count.empty() && count != "0";
    if (semi) return found_.good("replicas", "semi-synchronous", "A failover keeps the grants; all leases are lost.");
    if (replicas) {
      return found_.warning("replicas", fmt::format("{} of them, asynchronous", count),
                            "A failover may lose the last grants. dlock notices it at its next connection and "
                            "declares all leases lost; until then a key may be granted twice.",
                            "Use semi-synchronous replication, or check fencing tokens.");
    }
    if (!is_on(variables_, "log_bin")) return found_.good("replicas", "none, there is no binary log");
    found_.good(
        "replicas", mariadb() ? "none is connected" : "not shown to this user",
        mariadb() ? "" : "If there are any and replication is asynchronous, a failover may lose the last grants.");
  }

  void check_cluster() {
    if (const auto group = get(variables_, "group_replication_group_name"); !group.empty()) {
      const auto mode = get(variables_, "group_replication_single_primary_mode");
      const auto value = fmt::format("group {}, single primary: {}, consistency: {}", group, mode,
                                     get(variables_, "group_replication_consistency"));
      if (mode != "ON") {
        return found_.problem("cluster", value, "Two members can grant one key at the same time.",
                              "Use the single-primary mode.");
      }
      return found_.note("cluster", value, "dlock is not tested with group replication.",
                         "Set group_replication_consistency to BEFORE_ON_PRIMARY_FAILOVER or stronger.");
    }
    if (!is_on(variables_, "wsrep_on") || get(states_, "wsrep_cluster_size").empty()) {
      return found_.good("cluster", "none");
    }
    const long size = number(states_, "wsrep_cluster_size");
    const auto value = fmt::format("Galera, {} nodes, {}", size, get(states_, "wsrep_cluster_status"));
    if (get(states_, "wsrep_cluster_status") != "Primary" || get(states_, "wsrep_ready") != "ON") {
      return found_.problem("cluster", value, "This node has lost its cluster and grants no key.",
                            "Name all nodes in the URL, and repair this node.");
    }
    if (size > 2) {
      return found_.note("cluster", value,
                         "The clocks of the nodes must agree within the margin, and writes hang for some 6 s while the "
                         "cluster declares a node dead.",
                         "Use a ttl of 15 s or more.");
    }
    found_.warning("cluster", value, "When one node fails, the other ones may have no majority, and no key is granted.",
                   "Add a node, or an arbitrator.");
  }

  void check_tls() {
    const auto cipher = get(states_, "Ssl_cipher");
    const bool local =
        !settings_.socket.empty() || std::all_of(settings_.hosts.begin(), settings_.hosts.end(), [](const auto& host) {
          return host.host == "localhost" || host.host == "127.0.0.1" || host.host == "::1";
        });
    if (local) return found_.good("tls", cipher.empty() ? "none, the server is on this host" : cipher);
    if (cipher.empty()) {
      return found_.warning("tls", "none",
                            "An attacker on the network path can read the password's hash and change replies.",
                            "Write tls=verify into the URL, and tls_ca where the authority is your own.");
    }
    if (settings_.tls == tls_mode::verify) return found_.good("tls", cipher);
    found_.note("tls", cipher + ", the certificate is not checked",
                "An attacker on the network path can pose as the server. Only tls=verify prevents that.",
                "Write tls=verify into the URL.");
  }

  void check_identity() {
    if (!mariadb() || is_on(variables_, "wsrep_on")) return;
    const auto host = get(variables_, "hostname");
    const bool random = host.size() == 12 && host.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (!random) return found_.good("identity", fmt::format("{}, server_id = {}", host, get(variables_, "server_id")));
    found_.warning("identity", fmt::format("host name {}, which looks like a container's", host),
                   "A container that is created again gets another name, and all leases are lost (server_changed).",
                   "Give the container a host name: hostname: in Compose, or a StatefulSet.");
  }

  mysql_connection& with_;
  const mysql_settings& settings_;
  findings found_;
  texts variables_{};
  texts states_{};
  reply answer_{.result = outcome::yes, .statements = 0};
};

}  // namespace

reply examine_server(mysql_connection& with, const mysql_settings& settings, std::vector<store_finding>& found) {
  return examination(with, settings, found).run();
}

}  // namespace dlock::stores::mysql
