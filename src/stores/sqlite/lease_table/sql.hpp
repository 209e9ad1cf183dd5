// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "stores/sql/table_names.hpp"

namespace dlock::stores::sqlite::lease_table {

/// The statements that a connection prepares once and keeps.
enum class hot : unsigned char {
  take,
  insert,
  look,
  take_over_kept,
  take_over_own,
  extend,
  release,
  release_min_hold,
  cancel,
  session_open,
  session_renew,
  session_remove_expired,
  session_close,
  latest,
  look_session,
  revoke,
  sweep_sessions,
  sweep_session,
  sweep_keys,
  sweep_floor,
  sweep_key,
  count_  // how many there are
};

/// Their texts. ?1 is always the time: microseconds since boot, read anew for each try.
class sqlite_sql {
 public:
  explicit sqlite_sql(const sql::table_names& names);
  const std::string& operator[](hot which) const noexcept { return texts_[static_cast<std::size_t>(which)]; }

 private:
  std::array<std::string, static_cast<std::size_t>(hot::count_)> texts_;
};

}  // namespace dlock::stores::sqlite::lease_table
