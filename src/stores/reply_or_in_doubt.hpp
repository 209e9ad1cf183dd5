// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <exception>
#include <span>

#include "dlock/store_interface/store.hpp"

namespace dlock::stores {

/// It is not known what was sent, nor what of it was answered. To settle that, this connection is ended at the server,
/// by its identity: it must not be used any more.
inline void end_in_doubt(connection& on, reply& result) noexcept {
  result.result = outcome::unknown;
  result.why.transient = result.why.connection = true;
  on.interrupt();
}

/// Runs the body of a verb, which must not throw: without memory it is in doubt.
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
