// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "stores/mysql/client/native.hpp"
#include "stores/sql/table_names.hpp"

namespace dlock::stores::mysql::lease_table {

/// The hot statements: prepared once on each connection.
enum class mysql_hot {
  take,
  insert,
  look,
  take_over,
  extend,
  release,
  release_later,  ///< with min_hold
  cancel,
  session_open,
  session_renew,
  session_remove_expired,
  session_close,
};
constexpr std::size_t mysql_hot_count = 12;

/// What a parameter marker stands for; the statement's markers in their order are a list of these.
enum class mysql_value { key, session, nonce, fence, own_ttl, min_hold, holder, seen_fence, ttl, host, pid, label };

struct mysql_hot_text {
  std::string sql{};
  std::array<mysql_value, 10> values{};
  std::size_t count = 0;
  const char* name = "";
};

/// All of a store's SQL, with its table names. Immutable.
class mysql_sql {
 public:
  explicit mysql_sql(sql::table_names names);

  const sql::table_names& names() const noexcept { return names_; }
  /// `quick`: the server understands the prefix below.
  const mysql_hot_text& hot(mysql_hot which, bool quick = false) const noexcept {
    return (quick ? quick_ : hot_)[static_cast<std::size_t>(which)];
  }

  /// Before a take: a row that somebody's transaction has locked is busy at once, not after the lock wait timeout.
  static constexpr std::string_view quick_prefix = mysql::quick_prefix;

 private:
  sql::table_names names_;
  std::array<mysql_hot_text, mysql_hot_count> hot_{};
  std::array<mysql_hot_text, mysql_hot_count> quick_{};
};

}  // namespace dlock::stores::mysql::lease_table
