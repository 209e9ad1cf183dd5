// SPDX-License-Identifier: BSL-1.0
#pragma once

/// For those who want to know who leads, and do not lead:
///
///   const auto now = dlock::leader_of(locks, "billing");
///   dlock::leader_watch watch{locks, "billing", [](const dlock::leader_view& seen) {
///     if (seen.known) show(seen.who ? seen.who->host : "nobody");
///   }};

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "dlock/export.hpp"
#include "dlock/lock_key.hpp"
#include "dlock/lock_service.hpp"
#include "dlock/store_interface/holder_info.hpp"

namespace DLOCK_EXPORT dlock {

/// The process that holds the key of a leader (leader.hpp); empty if none does, or if it is dead. The answer may be old
/// when it arrives, so it is for messages and routing. What must not be done twice checks the leader's fencing token.
/// Errors: as lock_service::holder().
/// Cost: one statement.
DLOCK_EXPORT std::optional<holder_info> leader_of(lock_service& service, const lock_key& key);

/// What a watch knows.
struct leader_view {
  bool known = false;                ///< false: the store could not be asked, `why` says it
  std::optional<holder_info> who{};  ///< as leader_of(); while it is not known, the last that was
  std::string why{};                 ///< the error's text
};

/// Asks in intervals who leads. Calls `changed` first with what it finds first, then whenever another grant has the
/// key, nobody has it any more, or it is not known any more, or again.
/// Precondition: the service outlives it. It is not destroyed by its own callback (std::terminate).
/// Thread safety: `changed` runs on the watch's thread; it must not throw (std::terminate).
/// Cost: a thread, and one statement for each interval.
class leader_watch {
 public:
  /// `interval`: 10 ms to 1 day.
  /// Errors: std::invalid_argument, a bad interval or no callback; std::system_error, no thread.
  leader_watch(lock_service& service, lock_key key, std::function<void(const leader_view& seen)> changed,
               std::chrono::milliseconds interval = std::chrono::seconds{1});
  /// Waits until a call of `changed` has returned. Afterwards there is none.
  ~leader_watch();
  leader_watch(const leader_watch&) = delete;
  leader_watch& operator=(const leader_watch&) = delete;

 private:
  class watcher;
  const std::unique_ptr<watcher> watcher_;
};

}  // namespace dlock
