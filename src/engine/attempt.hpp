// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <fmt/format.h>

#include <utility>

#include "dlock/owner.hpp"
#include "engine/engine.hpp"

namespace dlock::detail {

/// A statement gets at least so long, however short the wait: a single attempt must not fail for a slow moment.
constexpr microseconds statement_patience = std::chrono::seconds{2};
/// So long a statement without an answer may still run, where nothing else bounds that: what its server has received of it
/// waits no longer for locks and for the threads of a pool.
constexpr microseconds longest_ghost = std::chrono::minutes{10};
/// Leases with an expiry of their own are asked for under a session of this ttl; nothing depends on its life.
constexpr microseconds naming_class = std::chrono::seconds{30};

inline long long ms(microseconds value) { return std::chrono::duration_cast<std::chrono::milliseconds>(value).count(); }

/// What the store granted, and to whom: what becomes a lease. granted() takes pin and turn out of it.
struct engine::won {
  const lock_key& key;
  const lock_settings& options;
  std::shared_ptr<owner_state> who;
  std::shared_ptr<session> by;  // pinned; the lease takes the pin over
  std::uint64_t nonce = 0;
  std::uint64_t fence = 0;
  instant trusted_until{};
  instant begun{};
  instant sent{};
  unsigned attempts = 0;
  bool taken_over = false;
  std::shared_ptr<std::list<chore>> spare{};  // the grant's
  bool has_turn = true;                       // of the local queue
};

/// How a lease of these options is kept, and for how long.
struct keeping {
  keeping(const lock_key& key, const lock_settings& how) noexcept : keeping(column_renewed(key), how) {}
  keeping(bool by_column, const lock_settings& how) noexcept
      : kept(how.renewal == renewal::automatic && !by_column),
        kind(how.renewal != renewal::automatic ? lease_kind::expiring
             : by_column                       ? lease_kind::column
                                               : lease_kind::session),
        ttl(kept ? microseconds{ttl_class(how.ttl)} : microseconds{how.ttl}) {}

  static bool column_renewed(const lock_key& key) noexcept {
    return key.row() != nullptr && key.row()->table->renewal == row_renewal::column;
  }
  /// As a store wants it: 0 for lease_kind::session.
  microseconds own_ttl() const noexcept { return kept ? microseconds{0} : ttl; }
  /// The ttl of the session that it is asked for with.
  microseconds session_ttl() const noexcept { return kept ? ttl : naming_class; }
  /// Rule 4, of a grant asked for at `sent` and answered at `now`: by the deadline of the very session that it was asked
  /// with; an expiry of its own counts from the sending (rule 8: the server's clock stood still while the statement waited).
  instant trusted_until(session& by, instant sent, instant now, microseconds margin) const noexcept {
    return kept ? now + by.deadline.left(now) : sent + ttl - margin_for(ttl, margin);
  }

  bool kept;
  lease_kind kind;
  microseconds ttl;
};

/// One acquire of one key, under way.
struct engine::attempt {
  attempt(const lock_key& name, const lock_settings& options_, bool single, std::shared_ptr<owner_state> whose,
          instant start, bool look_first, std::uint64_t seed, bool patient = false)
      : key(name),
        options(options_),
        once(single),
        who(std::move(whose)),
        begun(start),
        deadline(single ? start : start + options_.wait),
        how(name, options_),
        machine({.deadline = deadline,
                 .once = single,
                 .look_first = look_first,
                 .retry = options_.retry,
                 .seed = seed,
                 .patient = patient}) {}

  /// What of it nobody has taken or cancelled.
  enum class left { nothing, sent, answered };

  const lock_key& key;
  const lock_settings& options;
  const bool once;
  const std::shared_ptr<owner_state> who;
  const instant begun;
  const instant deadline;
  const keeping how;
  acquire_machine machine;
  std::shared_ptr<session> by{};  // pinned
  std::uint64_t nonce = 0;        // of the last attempt
  instant sent{};                 // when it was
  instant trusted_until{};        // of a grant by it
  left behind = left::nothing;    // at the store
  std::shared_ptr<std::list<chore>> spare = spare_for(key);
  connection_identity lost{};        // where it was sent, if it has no outcome
  connection_identity blocked_by{};  // a transaction that was verified by a holder now dead
  instant blocked_since{};

  /// One chore about a key, to be filled in without memory.
  static std::shared_ptr<std::list<chore>> spare_for(const lock_key& key) {
    auto made = std::make_shared<std::list<chore>>(1);
    made->front().key = key;
    return made;
  }
  void learn(dlock::outcome what) noexcept {
    const bool in_doubt = what == outcome::unknown;
    behind = what == outcome::yes ? left::answered : in_doubt ? left::sent : left::nothing;
  }
  instant limit(instant now) const { return std::max(deadline, now + statement_patience); }
};

class engine::visit {
 public:
  explicit visit(engine& home) : home_(home.shared_from_this()) {
    const std::lock_guard lock(home_->mutex_);
    ++home_->under_way_;
  }
  visit(const visit&) = delete;
  visit& operator=(const visit&) = delete;
  ~visit() {
    {
      const std::lock_guard lock(home_->mutex_);
      --home_->under_way_;
    }
    home_->wind_down_if_done();
  }

 private:
  const std::shared_ptr<engine> home_;
};

}  // namespace dlock::detail
