// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "dlock/error.hpp"
#include "dlock/export.hpp"

namespace DLOCK_EXPORT dlock {

/// Something that happened to a lock or a session. Views live until the call returns.
struct event {
  enum class kind {
    granted,          ///< key, fence, waited, attempts, taken_over
    reentered,        ///< key, fence
    busy,             ///< key, waited: try_acquire got nothing, or acquire timed out, was cancelled or refused to wait
    released,         ///< key, fence, held
    lost,             ///< key, fence, held, reason
    split_brain,      ///< key, fence: a release met a foreign holder though the lease cannot have run out: an alarm
    release_failed,   ///< key, fence, text: it is retried in the background
    outcome_unknown,  ///< key, text: an attempt without an answer; it is cancelled in the background
    acquire_failed,   ///< key, text: the database failed during an acquire
    deadlock,         ///< key, text, keys: after `busy`: refused because of the deadlock cycle that the text names
    in_transaction,   ///< key, text: acquired inside an open transaction, which may not see what earlier holders wrote
    blocked,          ///< key, fence, text: the holder is dead, but a transaction that it verified is still open
    unchecked,        ///< key, fence, text: a verified transaction was committed on a cluster without the last check
    session_opened,   ///< text: the session's id
    session_lost,     ///< text, reason
    renewal_late,     ///< text: a renewal failed; it is retried until the local deadline
    cleanup,          ///< attempts: rows that were deleted
    still_held,       ///< key, fence, text: a service is being destroyed, and waits for this lease or ends before it
    waiters_poll,     ///< text: why the store can't notify waiters; each reason once
    handler_failed,   ///< text: the handler of an asynchronous call threw; key: or the function of a leader
    observer_failed,  ///< never delivered; counted only
  };
  kind what{};
  std::string_view key{};
  std::uint64_t fence = 0;
  std::chrono::microseconds waited{0};
  std::chrono::microseconds held{0};
  unsigned attempts = 0;    ///< statements that this acquire sent
  bool taken_over = false;  ///< from a holder that died
  loss_reason reason = loss_reason::none;
  std::string_view text{};
  std::span<const std::string_view> keys{};  ///< further keys, which `text` names as printable() writes them
};

/// "granted", "reentered", ...: for messages and labels.
DLOCK_EXPORT std::string_view to_string(event::kind kind) noexcept;

/// All kinds of events, in their order, for tables of counters.
inline constexpr auto event_kinds = [] {
  std::array<event::kind, static_cast<std::size_t>(event::kind::observer_failed) + 1> all{};
  for (std::size_t i = 0; i != all.size(); ++i) all[i] = static_cast<event::kind>(i);
  return all;
}();

/// Gets everything that a service does. Exceptions from on() are caught and counted, they change nothing. Called
/// without dlock's internal locks held, so it may call back. A slow observer slows callers, handlers and the reports of
/// losses down, never renewals.
/// Precondition: on() does not destroy its service, nor wait for its end (lock_service.hpp).
/// Thread safety: on() is called on the caller's thread for what a call did, on one thread of the service for what
/// asynchronous calls did, on another one for what happened by itself (losses, renewals, background work).
class observer {
 public:
  virtual ~observer() = default;
  virtual void on(const event& event) = 0;
};

/// Hands each event to all of them, in their order; to the later ones too where one throws. Then it throws what the
/// first threw, so that the service counts observer_failed.
/// Errors: std::invalid_argument, one is null.
DLOCK_EXPORT std::shared_ptr<observer> make_tee_observer(std::vector<std::shared_ptr<observer>> to);

}  // namespace dlock
