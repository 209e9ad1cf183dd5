// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <vector>

#include "dlock/export.hpp"
#include "engine/operations/key_attempt.hpp"
#include "engine/operations/lock_request.hpp"
#include "engine/operations/session_request.hpp"

namespace dlock::engine {

/// Rows that a transaction of the application's grants, instead of the store (claims of dlock::odb): the session and
/// the nonce that it writes, and the grants that come of it. As an operation it gets the session; the rest is called by
/// whoever runs that transaction.
class row_adoption final : public operation {
 public:
  /// `terms` must outlive it.
  row_adoption(engine_services& services, const detail::lock_settings& terms, bool by_column,
               std::shared_ptr<owner_state> who, instant begun, waker& woken);
  ~row_adoption() override;

  action start(instant now) override;
  action resume(instant now) override { return pinned(session_.resume(now)); }
  action interrupt(interruption, instant now) override { return resume(now); }
  /// Finished: whether there is a session. Throws store_error if not.
  void check_pinned() const;

  // What the transaction writes.
  const id128& session() const noexcept { return pin_->id; }
  std::uint64_t nonce() const noexcept { return nonce_; }
  microseconds own_ttl() const noexcept { return keeping_.own_ttl(); }

  /// The rows that the transaction takes: before its commit is sent. Replaces those of a try before. Allocates all that
  /// is needed afterwards.
  DLOCK_EXPORT void expect(const std::vector<lock_key>& keys);
  void expect_none() noexcept { asked_.clear(); }
  /// The commit was sent at `now`, and it may be done even if there is no answer.
  void commit_sent(bool unsure) noexcept { unsure_ = unsure; }
  bool unsure() const noexcept { return unsure_; }

  /// The transaction has been committed. It was begun at `sent`. `fences`: as many as keys were expected, in their
  /// order; 0: that row is not to be had. Gives a grant for each, null where it came too late; those are freed in the
  /// background.
  std::vector<std::shared_ptr<grant>> committed(const std::vector<std::uint64_t>& fences, instant sent, instant now);

 private:
  action pinned(action next);
  void cancel(std::shared_ptr<grant> grant, instant now) noexcept;

  engine_services& services_;
  const detail::lock_settings& terms_;
  const std::shared_ptr<owner_state> owner_;
  const instant begun_;
  const keeping keeping_;
  session_request session_;
  session_pin pin_{};
  const std::uint64_t nonce_;
  const row_attempt unseen_;  // what the application has committed is in no book yet
  std::vector<std::shared_ptr<grant>> asked_{};
  instant last_{};
  bool unsure_ = false;
};

}  // namespace dlock::engine
