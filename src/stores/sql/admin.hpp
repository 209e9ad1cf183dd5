// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Operators' queries and the clean-up of lock tables, written once for all databases.

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dlock/store_interface/store_admin.hpp"
#include "stores/findings.hpp"
#include "stores/sql/clean_up.hpp"
#include "stores/sql/row_sql.hpp"
#include "stores/sql/shared_keys.hpp"
#include "stores/sql/sql_connection.hpp"
#include "stores/sql/table_names.hpp"

namespace dlock::stores::sql {

/// Each database derives from it. `names` has the words of lease_sql.hpp and these:
/// - {other_boot}: a condition that shows, besides the expiry, that a session is dead
/// - {wide_fence}: the fence in a type that can hold sums
/// Thread safety: all functions may be called from any thread.
class lease_admin : public store_admin {
 public:
  reply inspect(connection& on, const request& key, std::vector<holder_info>& found) noexcept final;
  reply list(connection& on, std::string_view after, std::size_t limit, std::vector<holder_info>& found) noexcept final;
  reply revoke(connection& on, const request& key) noexcept final;
  reply cleanup(connection& on, microseconds idle, std::size_t limit) noexcept final;
  reply overview(connection& on, std::size_t limit, store_overview& found) noexcept final;
  reply row_tables(connection& on, std::string_view name,
                   std::vector<std::shared_ptr<const row_table>>& found) noexcept final;
  reply held_rows(connection& on, const std::shared_ptr<const row_table>& table, std::size_t limit,
                  std::vector<held_row>& found) noexcept final;

 protected:
  /// `names`, `rows` and `shared` must outlive it. `before_sessions_go` is explained at clean_up.
  lease_admin(const table_names& names, const row_sql& rows, shared_keys& shared, std::string before_sessions_go = {})
      : names_(names), rows_(rows), shared_(shared), clean_up_(names, std::move(before_sessions_go)) {}

  /// A statement, and those of its values that are not in its text.
  struct table_question {
    std::string sql;
    std::vector<sql_parameter> values{};
  };

  /// Whether this thread may wait for a lock of the database. If not, sets `why`.
  virtual bool may_wait(fault& /*why*/) const noexcept { return true; }
  /// Sets holder_info::waiters where the waiters are known.
  virtual reply count_waiters(sql_connection& on, std::vector<holder_info>& of) = 0;
  /// Reads the id of the lock tables, unless it is known.
  virtual reply read_tables_id(sql_connection& /*on*/) { return {.result = outcome::yes, .statements = 0}; }
  /// Selects the tables that have a column lock_owner: their database or nothing, their name, and whether they have the
  /// columns lock_expires_at_us and version. If `name` is not empty, only that table.
  virtual table_question tables_with_locks(std::string_view name) const = 0;
  /// Reads the size of the lock tables as the end of a text: ", 1.5 MB". `size` stays empty if it is unknown.
  virtual reply read_size(sql_connection& /*on*/, std::string& /*size*/) const { return {.result = outcome::yes}; }
  /// See application_database::describe().
  virtual reply describe(sql_connection& on, row_table& table) const = 0;

  /// Deletes at most `limit` marks of what was done that count no more.
  virtual reply clean_marks(sql_connection& /*on*/, std::size_t /*limit*/) {
    return {.result = outcome::yes, .statements = 0};
  }

  sql_text text(std::string_view source, const char* doing) const;
  /// Adds what examine() reports about the tables themselves.
  reply examine_tables(sql_connection& on, findings& found) const;
  /// Adds what examine() reports about their rows.
  reply examine_keys(sql_connection& on, findings& found);

  const table_names& names() const noexcept { return names_; }

 private:
  /// `left`: how many keys have had members, and are free.
  reply count(sql_connection& on, store_overview& found, std::uint64_t& left);
  /// Selects held keys as the lock table has them: one that members share is one of them.
  reply select_keys(sql_connection& on, std::string_view rest, sql_values values, std::vector<holder_info>& found);
  /// Selects the holders of such keys.
  reply select_held(sql_connection& on, std::string_view rest, sql_values values, std::vector<holder_info>& found);
  reply select_sessions(sql_connection& on, std::size_t limit, std::vector<session_info>& found) const;
  row_table make_row_table(const sql_row& from) const;

  const table_names& names_;
  const row_sql& rows_;
  shared_keys& shared_;
  clean_up clean_up_;
};

}  // namespace dlock::stores::sql
