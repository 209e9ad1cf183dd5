// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <exception>
#include <span>

#include "dlock/store_interface/store.hpp"

namespace dlock::stores {

/// For a connection of which nobody knows what was sent or answered. To settle that, the server ends the connection by
/// its identity; it must not be used again.
inline void end_in_doubt(connection& on, reply& result) noexcept {
  result.result = outcome::unknown;
  result.why.transient = result.why.connection = true;
  on.interrupt();
}

/// Runs the body of a verb, which must not throw. If memory runs out in it, the verb is in doubt.
template <class Body>
void reply_or_in_doubt(connection& on, std::span<reply> replies, Body&& body) noexcept {
  try {
    body();
  } catch (const std::exception&) {
    for (auto& each : replies) {
      each = reply{};
      end_in_doubt(on, each);
    }
  }
}
template <class Body>
reply reply_or_in_doubt(connection& on, Body&& body) noexcept {
  reply result;
  reply_or_in_doubt(on, {&result, 1}, [&] { result = body(); });
  return result;
}

}  // namespace dlock::stores
