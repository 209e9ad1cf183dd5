// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What a store keeps of work that was done once (once.hpp).

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dlock/export.hpp"
#include "dlock/store_interface/store.hpp"

namespace DLOCK_EXPORT dlock {

/// The mark that something was done.
struct done_mark {
  std::chrono::microseconds since{0};  ///< how long ago, by the server's clock
  /// For how long it still counts. Not set: for ever.
  std::optional<std::chrono::microseconds> remaining{};
  /// Fencing token of the lease under which it was done; 0: in a transaction of the application, or there are no
  /// tokens.
  std::uint64_t fence = 0;
  std::string by{};  ///< "host/pid label" of the process that did it
};

/// Thread safety: all functions may be called from any thread, with different connections at the same time.
class mark_store {
 public:
  virtual ~mark_store() = default;

  /// Returns yes and sets `found`, or absent if there is no mark that counts. It sees each mark that was answered.
  virtual reply find_mark(connection& on, std::string_view key, done_mark& found) noexcept = 0;
  /// Writes the mark for `valid` from now on (not set: for ever), in one step with the check that session and fence of
  /// `grant` are the key's; returns no otherwise. The same again changes nothing but the time.
  virtual reply set_mark(connection& on, const request& grant, std::optional<microseconds> valid,
                         std::string_view by) noexcept = 0;
  /// Deletes the mark; returns no if there is none that counts.
  virtual reply delete_mark(connection& on, std::string_view key) noexcept = 0;
};

}  // namespace dlock
