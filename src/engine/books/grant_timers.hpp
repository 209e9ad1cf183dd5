// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>

#include "engine/books/deadline_heap.hpp"
#include "engine/books/grant.hpp"
#include "engine/statements/statement.hpp"

namespace dlock::engine {

// They stand in their heaps only while their grant is held, so it leaves them before it is destroyed.

/// The local deadline of a grant. Guarded by the mutex of deadline_timer.
struct grant_deadline {
  explicit grant_deadline(grant& whose) noexcept : of(whose) {}

  grant& of;
  deadline_heap<grant_deadline>::link link{};
};

/// What renews a grant whose own expiry keeps its lease. `due` and `blocked` are guarded by the mutex of row_renewer.
/// The rest belongs to the renewal that is under way.
struct renewal_state {
  explicit renewal_state(grant& whose) noexcept : of(whose) {}

  grant& of;
  deadline_heap<renewal_state>::link due{};      ///< by the time of its next renewal
  deadline_heap<renewal_state>::link blocked{};  ///< by its deadline, while its renewal is to wait for a row lock
  statement send{};
  std::shared_ptr<grant> under_way{};  ///< until it is answered
};

}  // namespace dlock::engine
