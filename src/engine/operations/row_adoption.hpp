// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <vector>

#include "dlock/export.hpp"
#include "engine/operations/flow.hpp"
#include "engine/operations/key_attempt.hpp"
#include "engine/operations/lock_request.hpp"

namespace dlock::engine {

/// Rows that a transaction of the application's grants, instead of the store (claims of dlock::odb): the session and
/// the nonce that it writes, and the grants that come of it. Whoever runs that transaction calls it.
class row_adoption {
 public:
  /// `terms` must outlive it.
  row_adoption(engine_services& services, const detail::lock_settings& terms, const keeping& kept,
               std::shared_ptr<owner_state> who, instant begun);
  row_adoption(const row_adoption&) = delete;
  row_adoption& operator=(const row_adoption&) = delete;
  /// What was expected and not committed is cancelled in the background.
  ~row_adoption();

  /// Gets the session, before all else. Throws store_error.
  task<void> pin_session(flow& f);

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
  void cancel(std::shared_ptr<grant> grant, instant now) noexcept;

  engine_services& services_;
  const detail::lock_settings& terms_;
  const std::shared_ptr<owner_state> owner_;
  const instant begun_;
  const keeping keeping_;
  session_pin pin_{};
  const std::uint64_t nonce_;
  const row_attempt unseen_;  // what the application has committed is in no book yet
  std::vector<std::shared_ptr<grant>> asked_{};
  instant last_{};
  bool unsure_ = false;
};

}  // namespace dlock::engine
