// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <vector>

#include "dlock/export.hpp"
#include "engine/operations/flow.hpp"
#include "engine/operations/key_attempt.hpp"
#include "engine/operations/lock_request.hpp"

namespace dlock::engine {

/// Adopts rows that a transaction of the application takes, instead of the store (claims of dlock::odb). It has the
/// session and the nonce that the transaction writes, and makes the grants. The code that runs the transaction calls
/// it.
class row_adoption {
 public:
  /// `terms` must outlive it.
  row_adoption(engine_services& services, const detail::lock_settings& terms, const keeping& kept,
               std::shared_ptr<owner_state> who, instant begun);
  row_adoption(const row_adoption&) = delete;
  row_adoption& operator=(const row_adoption&) = delete;
  /// Has the background cancel rows that were expected and not committed.
  ~row_adoption();

  /// Gets the session. Call it first. Throws store_error.
  task<void> pin_session(flow& f);

  // What the transaction writes.
  const id128& session() const noexcept { return pin_->id; }
  std::uint64_t nonce() const noexcept { return nonce_; }
  microseconds own_ttl() const noexcept { return keeping_.own_ttl(); }

  /// Names the rows that the transaction takes, before its commit is sent. Replaces the rows of an earlier try.
  /// Allocates everything that is needed later.
  DLOCK_EXPORT void expect(const std::vector<lock_key>& keys);
  void expect_none() noexcept { asked_.clear(); }
  /// The commit is sent at `now`, and may be executed even if there is no answer.
  void commit_sent(bool unsure) noexcept { unsure_ = unsure; }
  bool unsure() const noexcept { return unsure_; }

  /// The transaction, which began at `sent`, was committed. `fences` has one element for each expected key, in their
  /// order; 0 means that the transaction did not get that row. Returns a grant for each, or null if it came too late;
  /// the background frees such a row.
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
  const row_attempt unseen_;  // what the application has committed is in no registry yet
  std::vector<std::shared_ptr<grant>> asked_{};
  instant last_{};
  bool unsure_ = false;
};

}  // namespace dlock::engine
