// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <memory>

#include "engine/operations/operation.hpp"
#include "engine/operations/row_pause.hpp"

namespace dlock::engine {

/// Sets the own expiry of a grant to now + ttl, unless it ends later: lease::renew(), and re-entry with a longer ttl.
class extension final : public operation {
 public:
  /// `doing`: whose statement it is, for messages.
  extension(engine_services& services, std::shared_ptr<grant> grant, microseconds ttl, const char* doing = "renew")
      : services_(services), grant_(std::move(grant)), ttl_(ttl), doing_(doing) {}

  /// Throws lock_lost if the grant can't be trusted; std::logic_error, store_error where the statement would wait for
  /// this very thread.
  action start(instant now) override;
  /// Throws lock_lost, store_error.
  action resume(instant now) override;
  action interrupt(interruption, instant now) override { return resume(now); }
  /// Throws as start() where the statement would wait for the calling thread.
  void must_not_wait_for_itself() const;

 private:
  engine_services& services_;
  const std::shared_ptr<grant> grant_;
  const microseconds ttl_;
  const char* const doing_;
  statement statement_{};
  std::array<statement*, 1> sent_{&statement_};
  instant until_{};
  row_pause pause_{};
  bool pauses_ = false;
};

}  // namespace dlock::engine
