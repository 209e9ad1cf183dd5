// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "stores/mysql/client/native.hpp"
#include "stores/sql/named_sql.hpp"
#include "stores/sql/table_names.hpp"

namespace dlock::stores::mysql::lease_table {

/// The statements that a connection prepares once and keeps.
enum class statement_id : unsigned char {
  take,
  insert,
  look,
  take_over,
  extend,
  release,
  release_min_hold,
  cancel,
  session_open,
  session_renew,
  session_remove_expired,
  session_close,
  count_  // how many there are
};
constexpr auto statement_count = static_cast<std::size_t>(statement_id::count_);
/// Its text, with the names of tables and parameters still in it: for who fills in values.
const char* source_of(statement_id which) noexcept;

/// What they have as parameters, and under which names.
enum class parameter : unsigned char {
  key,
  session,
  nonce,
  fence,
  own_ttl,
  min_hold,
  holder,
  seen_fence,
  ttl,
  host,
  pid,
  label,
  count_
};
constexpr std::array<std::string_view, static_cast<std::size_t>(parameter::count_)> parameter_names{
    "key", "session", "nonce", "fence", "own_ttl", "min_hold", "holder", "seen_fence", "ttl", "host", "pid", "label"};

/// Statements that are sent as text with their values in it.
enum class text_id : unsigned char {
  batch_take,
  batch_insert,
  batch_release,
  batch_cancel,
  batch_read,
  batch_look,
  granted_fence,
  ask_for_row,
  revoke,
  verifiers,
  count_
};

/// All of a store's SQL about its lock tables, with their names. Immutable.
class lease_sql {
 public:
  explicit lease_sql(sql::table_names names);

  const sql::table_names& names() const noexcept { return names_; }
  /// `quick`: the server understands the prefix below.
  const sql::statement_text& statement(statement_id which, bool quick = false) const noexcept {
    return (quick ? quick_ : statements_)[static_cast<std::size_t>(which)];
  }
  /// To be filled in by sql::write_values(). `skip`: a batch passes over rows that somebody's transaction has locked.
  const std::string& text(text_id which, bool skip = false) const noexcept {
    return (skip ? skipping_ : texts_)[static_cast<std::size_t>(which)];
  }

  /// Before a take: a row that somebody's transaction has locked is busy at once, not after the lock wait timeout.
  static constexpr std::string_view quick_prefix = mysql::quick_prefix;

 private:
  using text_list = std::array<std::string, static_cast<std::size_t>(text_id::count_)>;

  void expand_texts(text_list& to, const std::string& rows) const;

  sql::table_names names_;
  std::vector<sql::statement_text> statements_{};
  std::vector<sql::statement_text> quick_{};
  text_list texts_{};
  text_list skipping_{};
};

}  // namespace dlock::stores::mysql::lease_table
