// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "stores/redis/client/settings.hpp"

namespace dlock::stores::redis::redlock {

/// A redlock:// URL, checked. dlock/stores/redlock.hpp documents the parameters.
struct redlock_settings : redis_settings {
  std::string prefix{};  ///< of the keys; may be empty
  std::chrono::milliseconds master_timeout{200};
  std::chrono::milliseconds restart_delay{60'000};

  static redlock_settings parse(store_url url);
  /// How many masters must agree.
  std::size_t quorum() const noexcept { return hosts.size() / 2 + 1; }
};

}  // namespace dlock::stores::redis::redlock
