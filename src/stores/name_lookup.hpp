// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>

#include "dlock/export.hpp"

namespace dlock::stores {

/// Whether `host` is an address, so that nothing is looked up.
DLOCK_EXPORT bool is_address(const std::string& host) noexcept;

/// Looks up host names with a time limit. Nothing can interrupt getaddrinfo(), so each look-up runs on a separate
/// thread, which may outlive its caller. There is at most one for each name; a second caller waits for the same one.
/// Thread safety: all functions may be called from any thread.
class DLOCK_EXPORT name_lookup {
 public:
  using clock = std::chrono::steady_clock;

  name_lookup();

  /// Returns false if there was no answer until `end`, or `cancel` was requested. Returns true for an unknown name,
  /// which the connection then reports. Does not look up an address. Throws std::system_error if no thread can be
  /// started.
  bool answers(const std::string& host, clock::time_point end, const std::stop_token& cancel);

 private:
  struct state;
  std::shared_ptr<state> state_;
};

}  // namespace dlock::stores
