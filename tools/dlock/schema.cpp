// SPDX-License-Identifier: BSL-1.0
// Prints the statements for a DBA, so that programs need no right to make tables. The texts are those of sql/.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dlock/store_interface/store_url.hpp"
#include "embedded_sql.hpp"
#include "output.hpp"
#include "url_source.hpp"
#include "verbs.hpp"

namespace dlock::command {

namespace {

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return lines;
}

/// A part of a quoted name or text.
std::string checked(const char* option, const std::string& name) {
  const bool odd = std::any_of(name.begin(), name.end(), [](char c) {
    return c == '`' || c == '"' || c == '\'' || c == '\\' || static_cast<unsigned char>(c) < 0x20;
  });
  if (name.empty() || odd) {
    throw failure(exit_code::usage,
                  fmt::format("{} '{}': a name without quotation marks and backslashes", option, name));
  }
  return name;
}

/// The options' values, or the URL's where they leave them open.
struct target {
  std::string database = "mysql";
  std::string scheme{};
  std::string prefix{};
  std::string table{};
  std::string name = "locks";
  std::string user{};
  std::string host{};
  std::string rows{};
  bool wake = false;  ///< with a waiter table beside a table of other programs
};

target target_of(const all_options& options) {
  target made;
  if (const auto url = find_url(options.common).url; !url.empty()) {
    auto parsed = store_url::parse(url);
    made.database = parsed.scheme == "rediss" || parsed.scheme == "redlock" ? "redis" : parsed.scheme;
    made.scheme = parsed.scheme == "redlock" ? "setnx" : parsed.take_param("scheme");
    made.prefix = parsed.take_param("prefix");
    made.table = parsed.take_param("table");
    made.wake = parsed.take_param("wake") == "on";
    if (parsed.scheme == "zookeeper") made.prefix = parsed.take_param("base", "/dlock");
    if (parsed.scheme == "mysql" && !parsed.path.empty()) made.name = parsed.path;
    made.user = parsed.user;
  }
  const auto& s = options.schema;
  if (!s.database.empty()) made.database = s.database;
  if (!s.scheme.empty()) made.scheme = s.scheme;
  if (!s.prefix.empty()) made.prefix = s.prefix;
  if (!s.table.empty()) made.table = s.table;
  if (!s.name.empty()) made.name = s.name;
  if (!s.user.empty()) made.user = s.user;
  made.host = s.host;
  made.rows = s.rows;
  return made;
}

/// Without the licence line and without comments at its beginning that say how to use the file.
std::vector<std::string> statements_of(std::string_view file) {
  std::vector<std::string> kept;
  bool begun = false;
  for (auto& line : lines_of(file)) {
    begun = begun || (!line.empty() && !line.starts_with("--"));
    if (begun) kept.push_back(std::move(line));
  }
  return kept;
}

std::string account_of(const target& is) {
  return fmt::format("'{}'@'{}'", checked("--user", is.user), checked("--host", is.host));
}

class schema_text {
 public:
  explicit schema_text(target is) : is_(std::move(is)) {}

  std::vector<std::string> lines() {
    if (!is_.rows.empty()) {
      add_row_columns();
    } else if (is_.database == "mysql") {
      add_mysql();
    } else if (is_.database == "sqlite") {
      add_sqlite();
    } else if (is_.database == "redis") {
      add_redis();
    } else if (is_.database == "zookeeper") {
      add_zookeeper();
    } else {
      throw failure(exit_code::usage,
                    fmt::format("--database '{}' is not mysql, sqlite, redis or zookeeper", is_.database));
    }
    return std::move(lines_);
  }

 private:
  void add(std::string line) { lines_.push_back(std::move(line)); }
  void add_file(std::string_view file) {
    for (const auto& line : statements_of(file)) add(filled(line));
  }
  void add_lease_file(std::string_view file, const std::string& prefix) {
    for (const auto& line : statements_of(file)) add(replaced(filled(line), "dlock_", prefix));
  }
  std::string filled(const std::string& text) const {
    return replaced(replaced(text, "@LOCKS@", checked("--name", is_.name)), "@TABLE@",
                    is_.table.empty() ? default_table() : checked("--table", is_.table));
  }
  std::string default_table() const {
    return is_.scheme == "t_lock" || is_.scheme == "shedlock" ? is_.scheme : "lock_table";
  }
  void add_user() { add(fmt::format("-- CREATE USER {} IDENTIFIED BY '...';", account_of(is_))); }

  void add_mysql() {
    if (is_.scheme.empty() || is_.scheme == "lease_table") return add_lease_tables();
    if (is_.scheme == "named_lock") {
      add("-- scheme=named_lock needs no table and no right but to log in.");
      if (!is_.user.empty()) add_user();
      return;
    }
    const auto file = is_.scheme == "t_lock"          ? sql_t_lock
                      : is_.scheme == "unique_insert" ? sql_unique_insert
                      : is_.scheme == "state_row"     ? sql_state_row
                      : is_.scheme == "shedlock"      ? sql_shedlock
                      : is_.scheme == "for_update"    ? sql_for_update
                                                      : std::string_view{};
    if (file.empty()) throw failure(exit_code::usage, fmt::format("--scheme '{}' is not known", is_.scheme));
    add_file(file);
    const bool wake = is_.wake && is_.scheme != "for_update";
    if (wake) add_file(sql_waiter);
    if (is_.user.empty()) return;
    add_user();
    const char* const rights = is_.scheme == "unique_insert" ? "SELECT, INSERT, UPDATE, DELETE"
                               : is_.scheme == "for_update"  ? "SELECT, UPDATE"
                                                             : "SELECT, INSERT, UPDATE";
    add(filled(fmt::format("GRANT {} ON `@LOCKS@`.`@TABLE@` TO {};", rights, account_of(is_))));
    if (wake) {
      add(filled(
          fmt::format("GRANT SELECT, INSERT, DELETE ON `@LOCKS@`.`dlock_waiter_@TABLE@` TO {};", account_of(is_))));
    }
    if (is_.scheme == "for_update") {
      add("-- For make_rows=1 in the URL, also:");
      add(filled(fmt::format("-- GRANT INSERT ON `@LOCKS@`.`@TABLE@` TO {};", account_of(is_))));
    }
  }

  void add_lease_tables() {
    const auto prefix = is_.prefix.empty() ? std::string("dlock_") : checked("--prefix", is_.prefix);
    add(fmt::format("USE `{}`;", checked("--name", is_.name)));
    add_lease_file(sql_schema_mysql, prefix);
    add("");
    add("-- What was done once: dlock::once, dlock run --once.");
    add_lease_file(sql_done_mysql, prefix);
    add("");
    add("-- Readers and holders of permits: lock_options::mode.");
    add_lease_file(sql_member_mysql, prefix);
    if (is_.user.empty()) return;
    add("");
    add("-- The rights of a program that locks.");
    add_user();
    for (const auto& line : lines_of(sql_grants)) {
      // The narrow rights, which the file has as comments.
      if (!line.starts_with("-- GRANT ") || line.find("`@LOCKS@`.`dlock_") == std::string::npos) continue;
      add(replaced(filled(replaced(line.substr(3), "dlock_", prefix)), "'@APP@'@'@HOST@'", account_of(is_)));
    }
  }

  void add_sqlite() {
    const auto prefix = is_.prefix.empty() ? std::string("dlock_") : checked("--prefix", is_.prefix);
    add_lease_file(sql_schema_sqlite, prefix);
    add("");
    add("-- What was done once: dlock::once, dlock run --once.");
    add_lease_file(sql_done_sqlite, prefix);
    add("");
    add("-- Readers and holders of permits: lock_options::mode.");
    add_lease_file(sql_member_sqlite, prefix);
    add("");
    add("-- A group that may lock, while no program has the file open:");
    add("--   chgrp locks folder locks.db; chmod 2770 folder; chmod 660 locks.db");
  }

  void add_redis() {
    const bool plain = is_.scheme == "setnx";
    const auto user = is_.user.empty() ? std::string("locker") : is_.user;
    const auto prefix = is_.prefix.empty() && !plain ? std::string("dlock:") : is_.prefix;
    add("# Redis needs no tables. The rights of a program that locks; channels since Redis 6.2:");
    if (plain) {
      add(
          fmt::format("ACL SETUSER {} on >... ~{}* +@read +@write +@scripting +ping +select +client|id +client|kill "
                      "+info +time +config|get",
                      user, prefix));
    } else {
      add(fmt::format(
          "ACL SETUSER {0} on >... ~{1}* &{1}* +@read +@write +@scripting +@pubsub +ping +select +client|id "
          "+client|kill +info +time +config|get",
          user, prefix));
    }
  }

  void add_zookeeper() {
    const auto base = is_.prefix.empty() ? std::string("/dlock") : is_.prefix;
    const auto user = is_.user.empty() ? std::string("locker") : is_.user;
    add("# ZooKeeper needs no tables: dlock makes its nodes. Where its user may not, once, by zkCli.sh (<hash> is "
        "what");
    add("# org.apache.zookeeper.server.auth.DigestAuthenticationProvider prints for user:password):");
    add(fmt::format("create {}", base));
    add(fmt::format("create {}.sessions", base));
    add(fmt::format("setAcl {} digest:{}:<hash>:cr", base, user));
    add(fmt::format("setAcl {}.sessions digest:{}:<hash>:cd", base, user));
  }

  void add_row_columns() {
    const auto table = checked("--rows", is_.rows);
    if (is_.database == "sqlite") {
      for (const auto& line : statements_of(sql_lock_columns_sqlite)) add(replaced(line, "@TABLE@", table));
      return;
    }
    if (is_.database != "mysql") {
      throw failure(exit_code::usage, fmt::format("{} has no rows that can be locked in place", is_.database));
    }
    for (const auto& line : statements_of(sql_lock_columns_mysql)) {
      add(replaced(line, "@TABLE@", replaced(table, ".", "`.`")));
    }
    if (is_.user.empty()) return;
    add(fmt::format("GRANT SELECT, UPDATE ON `{}` TO {};", replaced(table, ".", "`.`"), account_of(is_)));
  }

  target is_;
  std::vector<std::string> lines_{};
};

/// Each statement up to its semicolon, without comments.
json statements_in(const std::vector<std::string>& lines) {
  json all = json::array();
  std::string statement;
  for (const auto& line : lines) {
    if (line.empty() || line.starts_with("--") || line.starts_with("#")) continue;
    statement += (statement.empty() ? "" : " ") + line;
    if (!line.ends_with(';')) continue;
    statement.pop_back();
    all.push_back(std::exchange(statement, {}));
  }
  if (!statement.empty()) all.push_back(statement);
  return all;
}

}  // namespace

int schema(const all_options& options) {
  const auto lines = schema_text(target_of(options)).lines();
  if (options.common.json) {
    print_json({{"statements", statements_in(lines)}});
    return code(exit_code::done);
  }
  for (const auto& line : lines) print_line(line);
  return code(exit_code::done);
}

}  // namespace dlock::command
