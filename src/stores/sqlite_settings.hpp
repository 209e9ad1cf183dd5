// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>
#include <string>

#include "dlock/store_url.hpp"
#include "stores/odb_schema.hpp"

namespace dlock::stores {

/// What the URL of an SQLite store says. dlock/stores/sqlite.hpp has the meanings.
struct sqlite_settings {
  std::string name{};  ///< the URL, for messages
  std::string path{};  ///< absolute
  std::string prefix{};
  detail::schema_mode schema{};
  std::chrono::milliseconds busy_timeout{};

  /// Throws std::invalid_argument.
  static sqlite_settings parse(store_url url);
};

}  // namespace dlock::stores
