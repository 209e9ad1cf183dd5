// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <exception>
#include <span>

#include "dlock/store/store.hpp"

namespace dlock::stores {

/// It is not known what was sent, nor what of it was answered. Who settles that ends this connection at the server, by its
/// identity: nobody may go on with it.
inline void end_in_doubt(connection& on, reply& told) noexcept {
  told.result = outcome::unknown;
  told.why.transient = told.why.connection = true;
  on.interrupt();
}

/// Runs the body of a verb, which must not throw: without memory it is in doubt.
template <class Body>
void guarded(connection& on, std::span<reply> replies, Body&& body) noexcept {
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
reply guarded(connection& on, Body&& body) noexcept {
  reply told;
  guarded(on, {&told, 1}, [&] { told = body(); });
  return told;
}

}  // namespace dlock::stores
