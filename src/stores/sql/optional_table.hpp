// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stores/sql/sql_connection.hpp"
#include "stores/sql/table_names.hpp"

namespace dlock::stores::sql {

/// A table beside the lock tables that only some programs use. A start that makes the lock tables makes it, or its
/// first use, so a program may find that it is missing, or that its user has no right on it. Thread safety: all
/// functions may be called from any thread.
class optional_table {
 public:
  /// `file` is the text of a file in sql/, for the names of this store. `making`, for messages: "make the table of
  /// ...".
  optional_table(std::string_view file, const table_names& names, const char* making);

  /// Whether the error says that the table is missing.
  static bool lacks(const fault& why) noexcept;
  /// Whether it says that, or that this user has no right on it: then this program has nothing in it to clean up.
  static bool unused(const fault& why) noexcept;

  /// The statements that make it. They do nothing if it is there.
  const std::vector<std::string>& statements() const noexcept { return create_; }
  /// Executes them. Returns what the last one returned.
  reply make(sql_connection& on) const;

 private:
  const std::vector<std::string> create_;
  const char* const making_;
};

}  // namespace dlock::stores::sql
