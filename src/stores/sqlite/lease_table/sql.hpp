// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dlock/store_interface/id128.hpp"
#include "stores/sql/lease_sql.hpp"
#include "stores/sql/named_sql.hpp"
#include "stores/sql/table_names.hpp"
#include "stores/sqlite/client/statement.hpp"

namespace dlock::stores::sqlite::lease_table {

using sql::parameter;
using sql::parameter_names;
using sql::statement_id;
constexpr auto statement_count = static_cast<std::size_t>(statement_id::count_);

/// The values of one statement's parameters. What they refer to must live until the statement was stepped to its end.
struct lease_values {
  std::int64_t now = 0;  ///< microseconds since boot, read anew for each try
  std::string_view key{};
  id128 session{};
  id128 holder{};
  std::uint64_t nonce = 0;
  std::uint64_t fence = 0;
  std::uint64_t seen_fence = 0;
  std::int64_t own_ttl = 0;
  bool no_own_ttl = false;  ///< binds NULL instead: kept by the session
  std::int64_t min_hold = 0;
  std::int64_t ttl = 0;
  std::string_view host{};
  std::int64_t pid = 0;
  std::string_view label{};
  std::string_view boot{};
  std::int64_t idle = 0;
  std::int64_t most = 0;
  std::int64_t after = 0;  ///< a rowid
};

/// Gives a statement, prepared from that text, what it has as parameters.
void bind(sqlite_statement& to, const sql::statement_text& text, const lease_values& values) noexcept;

/// What the templates say of a key, in the tables of these names, which must outlive it.
sql::dictionary key_words(const sql::table_names& names);

/// All of a store's SQL about its lock tables, with their names. Immutable.
class lease_sql {
 public:
  /// So many keys are looked at by one statement.
  static constexpr std::size_t most_polls = 64;

  explicit lease_sql(sql::table_names names);

  const sql::table_names& names() const noexcept { return names_; }
  const sql::statement_text& statement(statement_id which) const noexcept {
    return statements_[static_cast<std::size_t>(which)];
  }
  /// The statement `poll` for many keys, its parameters 1 to most_polls: the key comes behind the columns of that one.
  /// A parameter that is NULL is no key.
  const std::string& poll_all() const noexcept { return poll_all_; }

 private:
  sql::table_names names_;
  std::vector<sql::statement_text> statements_{};
  std::string poll_all_{};
};

}  // namespace dlock::stores::sqlite::lease_table
