// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stores/mysql/client/native.hpp"
#include "stores/mysql/parked/waiter_table.hpp"
#include "stores/sql/lease_sql.hpp"
#include "stores/sql/named_sql.hpp"
#include "stores/sql/table_names.hpp"

namespace dlock::stores::mysql::lease_table {

using sql::parameter;
using sql::parameter_names;
using sql::statement_id;
constexpr auto statement_count = static_cast<std::size_t>(statement_id::session_close) + 1;
constexpr auto parameter_count = static_cast<std::size_t>(parameter::count) + 1;

/// What a release that looks for a waiter returns if it finds none. It returns 0 if a trigger hides the result.
constexpr std::uint64_t no_waiter = 9'223'372'036'854'775'807;

/// Statements that are sent as text with their values in it.
enum class text_id : unsigned char {
  batch_take,
  batch_insert,
  batch_release,
  batch_cancel,
  batch_pass_on,
  batch_read,
  batch_poll,
  granted_fence,
  ask_for_row,
  verifiers,
  after_others,
  waiters_of_key,
  count_
};

/// The words of the templates for keys in the tables of `names`, which must outlive it.
sql::dictionary key_words(const sql::table_names& names);

/// A store's SQL about its lock tables, and their names. Immutable.
class lease_sql {
 public:
  explicit lease_sql(sql::table_names names);

  const sql::table_names& names() const noexcept { return names_; }
  /// `quick`: the server understands mysql::quick_prefix.
  const sql::statement_text& statement(statement_id which, bool quick = false) const noexcept {
    return (quick ? quick_ : statements_)[static_cast<std::size_t>(which)];
  }
  /// A release that also finds the first waiter.
  const sql::statement_text& release_and_wake(bool quick) const noexcept {
    return quick ? quick_release_and_wake_ : release_and_wake_;
  }
  /// A text for sql::write_values(). `skip`: a batch skips rows that another transaction has locked.
  const std::string& text(text_id which, bool skip = false) const noexcept {
    return (skip ? skipping_ : texts_)[static_cast<std::size_t>(which)];
  }
  const parked::waiter_sql& waiters() const noexcept { return waiters_; }

 private:
  using text_list = std::array<std::string, static_cast<std::size_t>(text_id::count_)>;

  void expand_texts(text_list& to, const std::string& rows) const;

  sql::table_names names_;
  std::vector<sql::statement_text> statements_{};
  std::vector<sql::statement_text> quick_{};
  sql::statement_text release_and_wake_{};
  sql::statement_text quick_release_and_wake_{};
  parked::waiter_sql waiters_{};
  text_list texts_{};
  text_list skipping_{};
};

}  // namespace dlock::stores::mysql::lease_table
