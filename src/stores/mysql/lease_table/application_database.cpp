// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/lease_table/store.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.hpp"
#include "stores/mysql/client/check.hpp"
#include "stores/mysql/client/errors.hpp"
#include "stores/mysql/client/text.hpp"

namespace dlock::stores::mysql::lease_table {

namespace {

/// Returns null for a connection of another library.
MYSQL* native_of(const sql::application_connection& with) noexcept {
  return with.library == sql::client_library::mysql ? static_cast<MYSQL*>(with.handle) : nullptr;
}

outcome refuse_kind(const std::string& store, fault& why, outcome answer) {
  why = make_own_fault(fmt::format("{}: the connection leads to a database of another kind", store));
  return answer;
}

struct column {
  std::string type{};
  std::uint64_t size = 0;
  bool nullable = false;
  std::string extra{};
  text_column text{};
};

/// The character set of a column for which the server names none.
std::string charset_of(const std::string& type) {
  const bool bytes = type.find("binary") != std::string::npos || type.find("blob") != std::string::npos;
  return bytes ? "binary" : "";
}

/// A table according to information_schema, and whether its rows can be locked.
class table_description {
 public:
  explicit table_description(row_table& table) : table_(table) {}

  std::string columns_query() const {
    const auto named = split();
    return fmt::format(
        "SELECT t.TABLE_SCHEMA, t.ENGINE, c.COLUMN_NAME, c.DATA_TYPE, c.CHARACTER_MAXIMUM_LENGTH, c.IS_NULLABLE, "
        "c.EXTRA, c.CHARACTER_SET_NAME, c.COLLATION_NAME FROM information_schema.TABLES t JOIN "
        "information_schema.COLUMNS c ON c.TABLE_SCHEMA=t.TABLE_SCHEMA "
        "AND c.TABLE_NAME=t.TABLE_NAME WHERE t.TABLE_SCHEMA={} AND t.TABLE_NAME={}",
        named.first.empty() ? "DATABASE()" : mysql_value_literal(named.first), mysql_value_literal(named.second));
  }

  std::string key_query() const {
    return fmt::format(
        "SELECT COLUMN_NAME FROM information_schema.STATISTICS WHERE TABLE_SCHEMA={} AND TABLE_NAME={} AND "
        "INDEX_NAME='PRIMARY' ORDER BY SEQ_IN_INDEX",
        mysql_value_literal(schema_), mysql_value_literal(split().second));
  }

  /// Returns what is wrong with the table, or an empty text.
  std::string take_columns(const mysql_rows& rows) {
    if (rows.empty()) return missing("there is no such table, or the user may not see it");
    schema_ = rows.front().at(0).value_or("");
    const auto engine = rows.front().at(1).value_or("(none)");
    if (base::lower_case(engine) != "innodb") return fmt::format("it has the engine {}: row locks need InnoDB", engine);
    for (const auto& row : rows) {
      const auto type = base::lower_case(row.at(3).value_or(""));
      columns_[base::lower_case(row.at(2).value_or(""))] = {
          type,
          unsigned_of(row.at(4)),
          row.at(5) == "YES",
          base::lower_case(row.at(6).value_or("")),
          {row.at(7).value_or(charset_of(type)), row.at(8).value_or("")}};
    }
    for (auto check :
         {&table_description::check_owner, &table_description::check_expiry, &table_description::check_counters}) {
      if (auto wrong = (this->*check)(); !wrong.empty()) return wrong;
    }
    return {};
  }

  std::string take_key(const mysql_rows& rows) {
    if (rows.empty()) return "it has no primary key";
    table_.id.clear();
    table_.id_text.clear();
    for (const auto& row : rows) {
      const auto name = row.at(0).value_or("");
      table_.id.push_back(quote_mysql_name(name));
      const auto known = columns_.find(base::lower_case(name));
      table_.id_text.push_back(known == columns_.end() ? text_column{} : known->second.text);
    }
    const auto name = split().second;
    if (table_.label.empty()) table_.label = name;
    table_.table = quote_mysql_name(schema_) + "." + quote_mysql_name(name);
    for (auto* const part : {&table_.owner, &table_.expires_at, &table_.fence, &table_.version}) {
      if (!part->empty()) *part = quote_mysql_name(sql::bare_name(*part, '`'));
    }
    return {};
  }

  /// Whether the table or a lock column is missing.
  bool is_missing() const noexcept { return missing_; }

 private:
  std::string missing(std::string wrong) {
    missing_ = true;
    return wrong;
  }
  std::string no_column(const std::string& name) { return missing(fmt::format("it has no column {}", name)); }

  /// Splits the name into database, which may be empty, and table.
  std::pair<std::string, std::string> split() const {
    auto name = sql::bare_name(table_.table, '`');
    const auto tail = quote_mysql_name(name);
    const std::string_view all = table_.table;
    const bool quoted = all.size() > tail.size() && all.substr(all.size() - tail.size()) == tail;
    const auto remaining = all.substr(0, all.size() - std::min(all.size(), quoted ? tail.size() : name.size()));
    if (remaining.empty() || remaining.back() != '.') return {"", std::move(name)};
    return {sql::bare_name(remaining.substr(0, remaining.size() - 1), '`'), std::move(name)};
  }

  const column* find(const std::string& name) const {
    const auto at = columns_.find(base::lower_case(sql::bare_name(name, '`')));
    return at == columns_.end() ? nullptr : &at->second;
  }

  std::string check_owner() {
    const auto* const owner = find(table_.owner);
    if (owner == nullptr) return no_column(table_.owner);
    // Not BINARY, which appends zero bytes to a shorter name and so makes it another one.
    const bool text = owner->type.find("char") != std::string::npos || owner->type == "varbinary";
    if (!text || owner->size < 50) {
      return fmt::format("column {} is {}({}): it must be text of at least 50 characters", table_.owner, owner->type,
                         owner->size);
    }
    table_.owner_not_null = table_.owner_not_null || !owner->nullable;
    return {};
  }

  std::string check_expiry() {
    const auto* const expiry = find(table_.expires_at);
    if (expiry == nullptr) return no_column(table_.expires_at);
    if (table_.renewal == row_renewal::session) {
      if (expiry->type == "bigint" && expiry->nullable) return {};
      return fmt::format("column {} is {}: it must be BIGINT NULL", table_.expires_at, expiry->type);
    }
    if (expiry->type != "timestamp") {
      return fmt::format("column {} is {}: it must be TIMESTAMP, which means the same in every session's time zone",
                         table_.expires_at, expiry->type);
    }
    if (expiry->extra.find("on update") != std::string::npos) {
      return fmt::format("column {} is ON UPDATE {}: every update of a row would end its lock", table_.expires_at,
                         "CURRENT_TIMESTAMP");
    }
    return {};
  }

  std::string check_counters() {
    for (const auto* const name : {&table_.fence, &table_.version}) {
      if (name->empty()) continue;
      const auto* const counter = find(*name);
      if (counter == nullptr) return no_column(*name);
      const bool wide = counter->type == "bigint" || counter->type == "int" || counter->type == "mediumint";
      if (!wide || counter->nullable) return fmt::format("column {} must be an integer that is NOT NULL", *name);
    }
    return {};
  }

  row_table& table_;
  std::string schema_{};
  std::map<std::string, column> columns_{};
  bool missing_ = false;
};

}  // namespace

// ---- who has a transaction open -------------------------------------------------------------------------------------

reply mysql_application_database::blocker(connection& on, const request& key, connection_identity& out) noexcept {
  return sql::attempt<lease_connection>(on, "find a verified transaction", [&](auto& with) {
    // A row of the application has no column for the number of a connection.
    if (key.row != nullptr) return reply{.result = outcome::no};
    const auto text = sql::write_values(tables_.sql.text(text_id::verifiers), {{"key", mysql_literal(key.resource)}});
    mysql_rows dirty;
    mysql_rows committed;
    // Only for the next statement. The dirty read comes first, so that a commit in between does not look newer.
    auto answer = with.read("SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED", "read uncommitted");
    if (answer.result == outcome::yes) {
      answer = with.read(text, "read uncommitted", &dirty);
      if (answer.result != outcome::yes) with.interrupt();  // or the next statement of others would read so
    }
    if (answer.result == outcome::yes) answer = with.read(text, "read committed", &committed);
    if (answer.result != outcome::yes) return answer;
    answer.result = outcome::no;
    if (dirty.empty() || committed.empty()) return answer;
    const auto connection = unsigned_of(dirty.at(0).at(0));
    if (unsigned_of(dirty.at(0).at(1)) <= unsigned_of(committed.at(0).at(1)) || connection == 0) return answer;
    out = with.identity();
    out.id = connection;
    answer.result = outcome::yes;
    return answer;
  });
}

// ---- its connections and tables -------------------------------------------------------------------------------------

std::string mysql_application_database::unfit_id(const row_table& table, std::span<const row_value> values) const {
  const bool utf8 = table.charset.empty() || table.charset.starts_with("utf8");
  for (std::size_t i = 0; i < values.size() && i < table.id_text.size(); ++i) {
    // The server would compare as numbers, so that '1', '01' and '1.0' were the same row.
    if (std::holds_alternative<std::string>(values[i]) || table.id_text[i].charset.empty()) continue;
    return fmt::format("{} is a column of text, and the id is an integer: map it as std::string", table.id.at(i));
  }
  for (std::size_t i = 0; utf8 && i < values.size() && i < table.id_text.size(); ++i) {
    const auto* const text = std::get_if<std::string>(&values[i]);
    if (text == nullptr || table.id_text[i].charset == "binary" || is_utf8(*text)) continue;
    return fmt::format("{} = '{}' is not UTF-8, which the application's connections speak", table.id.at(i),
                       clip_utf8(*text, 64));
  }
  return {};
}

outcome mysql_application_database::glance(const sql::application_connection& with) const noexcept {
  return native_of(with) != nullptr ? outcome::unknown : outcome::no;
}

sql::transaction_state mysql_application_database::transaction_on(
    const sql::application_connection& with) const noexcept {
  const unsigned status = native_of(with)->server_status;
  if ((status & SERVER_STATUS_IN_TRANS) != 0) return sql::transaction_state::open;
  return (status & SERVER_STATUS_AUTOCOMMIT) == 0 ? sql::transaction_state::pending : sql::transaction_state::none;
}

void mysql_application_database::break_off(const sql::application_connection& with) const noexcept {
  if (auto* const theirs = native_of(with); theirs != nullptr) ::shutdown(mysql_socket(theirs), SHUT_RDWR);
}

std::string mysql_application_database::catch_up() const {
  return is_cluster(tables_.client.server()) ? std::string(sync_prefix) + "SELECT 1" : std::string();
}

bool mysql_application_database::ends_unseen() const noexcept try {
  return is_cluster(tables_.client.server());
} catch (...) {
  return true;  // memory ran out for the server's name
}

std::string mysql_application_database::sees(const request& grant) const {
  constexpr const char* key_seen =
      "SELECT 1 FROM {lock} WHERE {lock.lock_key} = :key AND {lock.session_id} = :session AND {lock.fence} = :fence";
  if (grant.units != 0) return about_key(grant, members_.sees().c_str(), {{"nonce", grant.nonce}}).text;
  return (grant.row != nullptr ? rows_.about(grant, sql::row_statement::sees) : about_key(grant, key_seen)).text;
}

std::string mysql_application_database::and_here() const {
  const auto server = tables_.client.server();
  return server.id_sql.empty() ? "" : " AND " + server.id_sql + "=" + mysql_literal(server.id);
}

std::string mysql_application_database::claim(const sql::claim_request& request) const {
  if (!tables_.row_sql.tables().known())
    fail(tables_.settings.name, make_own_fault(no_tables_id(tables_.sql.names().table("floor"))));
  return application_rows::claim(request);
}

outcome mysql_application_database::shares(const sql::application_connection& with, fault& why) const {
  auto* const theirs = native_of(with);
  if (theirs == nullptr) return refuse_kind(tables_.settings.name, why, outcome::no);
  mysql_server server;
  if (!read_server(theirs, server, why)) return outcome_of_mysql_error(static_cast<unsigned>(why.native));
  return server.id == tables_.client.server().id ? outcome::yes : outcome::no;
}

outcome mysql_application_database::describe(const sql::application_connection& with, row_table& table,
                                             fault& why) const {
  auto* const theirs = native_of(with);
  if (theirs == nullptr) return refuse_kind(tables_.settings.name, why, outcome::failed);
  return describe_table(theirs, table, why);
}

outcome describe_table(MYSQL* handle, row_table& table, fault& why) {
  table_description poll(table);
  mysql_rows rows;
  const auto refuse = [&](const std::string& wrong) {
    if (wrong.empty()) return false;
    why = make_own_fault(fmt::format("table {}: {}", table.table, wrong));
    why.missing = poll.is_missing();
    return true;
  };
  const bool offsets = is_mariadb(handle) || mysql_get_server_version(handle) >= 80'019;
  if (table.renewal == row_renewal::column && !offsets &&
      refuse("its expiry can't be written independent of the session's time zone before MySQL 8.0.19")) {
    return outcome::failed;
  }
  if (!run_mysql(handle, poll.columns_query(), "describe a table", &rows, why)) return outcome::failed;
  if (refuse(poll.take_columns(rows))) return outcome::failed;
  rows.clear();
  if (!run_mysql(handle, poll.key_query(), "describe a table", &rows, why)) return outcome::failed;
  if (refuse(poll.take_key(rows))) return outcome::failed;
  table.charset = mysql_character_set_name(handle);
  return outcome::yes;
}

sql::application_address mysql_application_database::address() const {
  const mysql_settings& settings = tables_.settings;
  const auto host = settings.hosts.empty() ? store_url::endpoint{} : settings.hosts.front();
  return {.database = settings.database,
          .user = settings.user,
          .host = host.host,
          .port = host.port,
          .socket = settings.socket};
}

std::function<void*(fault&)> mysql_application_database::connector() const {
  return [connections = std::make_shared<application_connections>(tables_.settings)](fault& why) -> void* {
    return connections->open(why).release();
  };
}

fault mysql_application_database::fault_of(int native, std::string_view sqlstate, std::string_view text) const {
  if (native == 0) return make_own_fault(std::string(text));
  return make_mysql_fault(static_cast<unsigned>(native), sqlstate, text, "the application's statement");
}

bool mysql_application_database::may_be_done(const fault& why) const noexcept {
  return outcome_of_mysql_error(static_cast<unsigned>(why.native)) == outcome::unknown;
}

std::string mysql_application_database::lock_and_skip(const row_table& table) const {
  if (!tables_.client.can_skip_locked()) return " FOR UPDATE";
  if (locks_joined_rows()) return " FOR UPDATE SKIP LOCKED";
  return fmt::format(" FOR UPDATE OF {} SKIP LOCKED", quote_mysql_name(sql::bare_name(table.table, '`')));
}

}  // namespace dlock::stores::mysql::lease_table
