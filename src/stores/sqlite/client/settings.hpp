// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <chrono>
#include <string>

#include "dlock/store_interface/store_url.hpp"

namespace dlock::stores::sqlite {

/// What the URL of an SQLite store says of the file. dlock/stores/sqlite.hpp has the meanings.
struct sqlite_settings {
  std::string name{};  ///< the URL, for messages
  std::string path{};  ///< absolute
  std::chrono::milliseconds busy_timeout{};
  bool any_file_system = false;  ///< also where machines share files

  /// Of a statement of an acquire or a release: a file that is busy for longer makes the key
  /// count as busy, which is for the caller to wait for. The engine interrupts what takes much longer than this.
  std::chrono::milliseconds statement_timeout() const noexcept {
    return std::min(busy_timeout, std::chrono::milliseconds{1000});
  }

  /// Takes its parameters out of the URL, so that those of a scheme are left. Throws std::invalid_argument.
  static sqlite_settings take(store_url& url);
};

}  // namespace dlock::stores::sqlite
