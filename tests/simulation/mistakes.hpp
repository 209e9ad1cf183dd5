// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "simulation/plan.hpp"

namespace dlock::simulation {

/// What the simulated store can be made to do wrong, so that a run shows that it would be noticed. They are those of
/// the protocol's model, and some more. Each is one clause of a statement left out, or wrong.
enum class mistake : std::uint8_t {
  none,
  unkept_with_session,  ///< a lock with its own expiry is free when its holder's session is gone
  stale_view,         ///< take-over is about whoever holds the row, by a view of the sessions from before the row lock
  renewal_goes_back,  ///< a renewal writes now + ttl, not the greatest of that and what is there
  floor_forgotten,    ///< the first insert of a key does not read the floor
  release_without_fence,  ///< release names the session alone
  cancel_without_nonce,   ///< cancel names the session alone
  expiry_left_over,       ///< a grant that its session keeps leaves the expiry of the one before in the row
  take_over_from_living,  ///< take-over does not ask whether the session is gone, nor does the kill look at the expiry
  revoked_renewed,        ///< a renewal does not look whether its session was revoked
  verify_without_lock,    ///< verify reads, and locks nothing
  take_from_anybody,      ///< take checks the lock's own expiry alone, whoever holds the key
  fence_not_raised,       ///< take-over leaves the fence
  terminate_lies,         ///< a lost connection is said to be gone while it still runs something
  extend_of_others,       ///< extend looks at neither session nor fence
  min_hold_kept,          ///< release with min_hold never ends it
  batch_mixed_up,         ///< the first two answers of a batch are exchanged
  batch_of_one,           ///< of a batch, only the first is done, all are said to be
  session_forgotten,      ///< close of a session does nothing
  expiry_too_early,    ///< the expiry column of a row gets the second that has begun, not the one that is still to come
  claim_without_lock,  ///< a claim changes rows that it has only read, whoever has them now
  revoke_frees,        ///< an operator who revokes a session frees the key in the same step
  request_freed_by_one,     ///< the first process of a request that releases a key frees it for all
  passed_on_without_fence,  ///< pass_on names the session alone
  order_ignored,            ///< a take in order does not ask whether others come first
  dead_waiter_first,        ///< others wait for a process that is no more to take its turn
  dead_waiter_woken,        ///< a release wakes the first of the waiter table, though its connection is no more
  passed_over_until_woken,  ///< a waiter that was passed over comes first again at the next release
  // Of statements about members (sql_mistakes.cpp):
  join_ignores_closing,    ///< a member may join a key that was closed
  members_ignored,         ///< neither a writer's poll nor its take looks at members
  permits_not_locked,      ///< a join counts the units by a view from before the row lock
  own_units_forgotten,     ///< a join counts the units of the others alone
  living_members_removed,  ///< if a session is gone, all members of the key are removed
  left_by_key_alone,       ///< a member that leaves removes all members of the key
  left_by_session_alone,   ///< a member that leaves removes all of its session
  closing_never_lapses,    ///< what a caller has closed that is no more stays closed
  closing_lapses_at_once,  ///< whoever wants to join opens a key again that was just closed
  writer_without_fence,    ///< the take of a closed key leaves the fence
  member_without_token,    ///< a member gets a token below that of the last writer
  shared_floor_forgotten,  ///< the first use of a key by a member does not read the floor
  expiry_of_members_left,  ///< the take of a closed key leaves the expiry that never comes
};

struct mistake_name {
  mistake what;
  std::string_view name;
  subject about = subject::everything;  ///< only such runs show it
};

inline constexpr std::array mistake_names{
    mistake_name{mistake::unkept_with_session, "unkept_with_session"},
    mistake_name{mistake::stale_view, "stale_view"},
    mistake_name{mistake::renewal_goes_back, "renewal_goes_back"},
    mistake_name{mistake::floor_forgotten, "floor_forgotten"},
    mistake_name{mistake::release_without_fence, "release_without_fence"},
    mistake_name{mistake::cancel_without_nonce, "cancel_without_nonce"},
    mistake_name{mistake::expiry_left_over, "expiry_left_over"},
    mistake_name{mistake::take_over_from_living, "take_over_from_living"},
    mistake_name{mistake::revoked_renewed, "revoked_renewed"},
    mistake_name{mistake::verify_without_lock, "verify_without_lock"},
    mistake_name{mistake::take_from_anybody, "take_from_anybody"},
    mistake_name{mistake::fence_not_raised, "fence_not_raised"},
    mistake_name{mistake::terminate_lies, "terminate_lies"},
    mistake_name{mistake::extend_of_others, "extend_of_others"},
    mistake_name{mistake::min_hold_kept, "min_hold_kept"},
    mistake_name{mistake::batch_mixed_up, "batch_mixed_up"},
    mistake_name{mistake::batch_of_one, "batch_of_one"},
    mistake_name{mistake::session_forgotten, "session_forgotten"},
    mistake_name{mistake::expiry_too_early, "expiry_too_early"},
    mistake_name{mistake::claim_without_lock, "claim_without_lock"},
    mistake_name{mistake::revoke_frees, "revoke_frees"},
    mistake_name{mistake::request_freed_by_one, "request_freed_by_one"},
    mistake_name{mistake::passed_on_without_fence, "passed_on_without_fence"},
    mistake_name{mistake::order_ignored, "order_ignored"},
    mistake_name{mistake::dead_waiter_first, "dead_waiter_first"},
    mistake_name{mistake::dead_waiter_woken, "dead_waiter_woken"},
    mistake_name{mistake::passed_over_until_woken, "passed_over_until_woken", subject::stops},
    mistake_name{mistake::join_ignores_closing, "join_ignores_closing", subject::shared},
    mistake_name{mistake::members_ignored, "members_ignored", subject::shared},
    mistake_name{mistake::permits_not_locked, "permits_not_locked", subject::shared},
    mistake_name{mistake::own_units_forgotten, "own_units_forgotten", subject::shared},
    mistake_name{mistake::living_members_removed, "living_members_removed", subject::shared},
    mistake_name{mistake::left_by_key_alone, "left_by_key_alone", subject::shared},
    mistake_name{mistake::left_by_session_alone, "left_by_session_alone", subject::shared},
    mistake_name{mistake::closing_never_lapses, "closing_never_lapses", subject::shared},
    mistake_name{mistake::closing_lapses_at_once, "closing_lapses_at_once", subject::shared},
    mistake_name{mistake::writer_without_fence, "writer_without_fence", subject::shared},
    mistake_name{mistake::member_without_token, "member_without_token", subject::shared},
    mistake_name{mistake::shared_floor_forgotten, "shared_floor_forgotten", subject::shared},
    mistake_name{mistake::expiry_of_members_left, "expiry_of_members_left", subject::shared},
};

}  // namespace dlock::simulation
