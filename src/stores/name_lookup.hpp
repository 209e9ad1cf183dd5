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

/// Whether a host's name can be looked up in time. Nothing can end getaddrinfo(), so each look-up runs on a thread of
/// its own, which may outlive its caller; there is at most one for each name, and a second one waits for
/// that. Thread safety: all functions may be called from any thread.
class DLOCK_EXPORT name_lookup {
 public:
  using clock = std::chrono::steady_clock;

  name_lookup();

  /// False if there was no answer until `end`, or `cancel` was requested. Says true for a name that is not known: who
  /// connects finds that out, and can say it. An address is not looked up. Throws std::system_error if there is no
  /// thread.
  bool answers(const std::string& host, clock::time_point end, const std::stop_token& cancel);

 private:
  struct state;
  std::shared_ptr<state> state_;
};

}  // namespace dlock::stores
