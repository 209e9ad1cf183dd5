// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <chrono>
#include <string>

#include "dlock/store_interface/store_url.hpp"

namespace dlock::stores::sqlite {

/// The settings in an SQLite store's URL. dlock/stores/sqlite.hpp has their meanings.
struct sqlite_settings {
  std::string name{};  ///< the URL, for messages
  std::string path{};  ///< absolute
  std::chrono::milliseconds busy_timeout{};
  bool any_file_system = false;  ///< allows file systems that machines share

  /// The limit of a statement of an acquire or a release. If the file is busy for longer, the key counts as busy, and
  /// the caller waits for it. The engine interrupts what takes much longer than this.
  std::chrono::milliseconds statement_timeout() const noexcept {
    return std::min(busy_timeout, std::chrono::milliseconds{1000});
  }

  /// Takes its parameters out of the URL, so that those of a scheme remain. Throws std::invalid_argument.
  static sqlite_settings take(store_url& url);
};

}  // namespace dlock::stores::sqlite
