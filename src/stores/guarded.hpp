// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <exception>
#include <span>

#include "dlock/store/store_types.hpp"

namespace dlock::stores {

/// Runs the body of a verb, which must not throw: without memory it is not known what was sent.
template <class Body>
void guarded(std::span<reply> replies, Body&& body) noexcept {
  try {
    body();
  } catch (const std::exception&) {
    for (auto& each : replies) {
      each = reply{.result = outcome::unknown};
      each.why.transient = true;
    }
  }
}
template <class Body>
reply guarded(Body&& body) noexcept {
  reply told;
  guarded({&told, 1}, [&] { told = body(); });
  return told;
}

}  // namespace dlock::stores
