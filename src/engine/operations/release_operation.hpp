// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "engine/operations/operation.hpp"
#include "engine/operations/row_pause.hpp"

namespace dlock::engine {

/// One lease that ends, and what becomes of its grant.
struct ended_lease {
  std::shared_ptr<engine::grant> grant{};
  bool last = false;   ///< no lease is left, and no transaction is to be waited for: the grant is to be freed
  bool begun = false;  ///< its release has begun, and `trusted` is known
  release_result result = release_result::freed;
  fault why{};

  // The operation's.
  bool open = false;                      // not freed yet
  bool trusted = false;                   // when its release began
  bool unanswered = false;                // a statement without an answer may have freed it
  bool passed = false;                    // the store has granted the key to `next`
  std::shared_ptr<engine::grant> next{};  // what the statement grants, or may have granted, to the next waiter
  statement send{};
};

/// Frees the grants of one or several leases, all within one release_limit: trust ends, the statements are sent and
/// repeated, what gets no answer is left to the background, and each result is reported. It never fails. A key that
/// another thread waits for is passed on to it by one statement, where the store can do that.
class release_operation final : public operation {
 public:
  /// `room`: as many places as there are leases. Both must outlive it.
  release_operation(engine_services& services, std::span<ended_lease> all, std::span<statement*> room) noexcept
      : services_(services), all_(all), room_(room) {}

  action start(instant now) override;
  action resume(instant now) override;
  action interrupt(interruption, instant now) override { return resume(now); }

 private:
  action send() noexcept;
  std::shared_ptr<grant> next_grant(const ended_lease& ended, instant now) noexcept;
  void judge(ended_lease& ended, instant now) noexcept;
  bool judge_passing(ended_lease& ended, instant now) noexcept;
  bool judge_release(ended_lease& ended) noexcept;
  void note_release(const grant& released, instant now) noexcept;
  action finish(instant now) noexcept;
  void leave_to_background(ended_lease& ended, instant now) noexcept;

  engine_services& services_;
  const std::span<ended_lease> all_;
  const std::span<statement*> room_;
  instant until_{};
  std::size_t open_ = 0;  // of them, their statements in room_
  bool soon_ = true;      // they may be answered the next time
  bool at_once_ = false;  // one of them is another statement than the one before
  bool pauses_ = false;
  row_pause pause_{};
};

}  // namespace dlock::engine
