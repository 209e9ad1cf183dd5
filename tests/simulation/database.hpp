// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlock/store_interface/holder_info.hpp"
#include "dlock/store_interface/store_types.hpp"
#include "simulation/mistakes.hpp"
#include "simulation/world.hpp"

namespace dlock::simulation {

struct lock_row {
  id128 session{};  ///< zero: nobody
  std::uint64_t nonce = 0;
  std::uint64_t fence = 0;
  moment acquired = 0;
  std::optional<moment> expires{};  ///< none: kept by its session
  bool of_table = false;            ///< a row of the application's
  bool by_column = false;       ///< ... which is kept by its expiry column, in whole seconds; the version is the fence
  std::string foreign{};        ///< what another program has written as its owner; then there is no session
  bool mark = false;            ///< of a row: what verify changes
  std::uint64_t version = 0;    ///< of the row, where it is not the fence
  std::uint64_t locked_by = 0;  ///< connection of the transaction that has the row lock; 0: none

  bool held() const noexcept { return session || !foreign.empty(); }
  /// Whether its own expiry has passed at that time: of a column, when now() in whole seconds is greater.
  bool passed(moment clock) const noexcept;
};

struct session_row {
  moment expires = 0;
  moment ttl = 0;
  bool revoked = false;
  std::string host{};
  std::int64_t pid = 0;
  std::string label{};
};

/// Told of every change of a lock, in the moment when it happens.
class history {
 public:
  /// `row` is how it was before; null: it was not there. `by`: a take, insert or take-over.
  virtual void granted(const request& by, const lock_row* row, std::uint64_t fence) = 0;
  /// A release or cancellation frees it.
  virtual void freed(const request& by, const lock_row& row) = 0;
  virtual void extended(const request& by, const lock_row& row) = 0;
  virtual void opened(const id128& session) = 0;
  /// Its own service closes it: what it keeps is free.
  virtual void closed(const id128& session) = 0;
  /// Another program takes it.
  virtual void taken(const std::string& key, const lock_row& row, std::uint64_t fence) = 0;

 protected:
  ~history() = default;
};

/// The lock tables, and what statements do to them: one at a time, each in one step. docs/protocol.md has the
/// statements.
class database {
 public:
  using rows = std::map<std::string, lock_row, std::less<>>;
  using sessions = std::map<id128, session_row>;

  /// What a statement knows besides the rows as they are.
  struct view {
    moment clock = 0;                         ///< its time: that of its beginning
    const sessions* sessions_then = nullptr;  ///< those that its sub-query sees; null: as they are
  };

  reply run(const request& q, const view& by);
  reply run(session_verb action, const session_record& of, moment clock);
  /// One statement for all, or one after the other. No row of them is locked by a transaction.
  void run_batch(const std::vector<request>& all, const view& by, std::vector<reply>& answers);
  lock_row& make_row(const std::string& key, bool by_column);
  /// Whether a transaction that has locked the row may verify that grant, or release it.
  static bool holds(const lock_row& row, const request& grant) noexcept;
  /// Of a statement of the application's (a claim): grants a row that is free. 0: it is not.
  std::uint64_t claim(const request& q, moment clock);
  /// What a program does that knows only owner, expiry and version. False: it is held.
  bool plain_take(const std::string& key, const std::string& owner, moment seconds, moment clock);
  bool plain_release(const std::string& key, const std::string& owner, moment clock);
  static void free(lock_row& row, moment clock) noexcept;

  // What operators and clean-up ask.
  std::optional<holder_info> describe(const std::string& key, moment clock) const;
  bool revoke(std::string_view key);
  std::uint64_t cleanup(moment idle, std::size_t limit, moment clock);

  /// Whether nobody has a right to it any more, at that time: what a grant must find.
  bool over(const lock_row& row, moment clock) const;
  const rows& locks() const noexcept { return locks_; }
  rows& locks() noexcept { return locks_; }
  const sessions& all_sessions() const noexcept { return sessions_; }

  mistake wrong = mistake::none;
  history* observer = nullptr;

 private:
  reply grant(lock_row& row, const request& q, const view& by, const lock_row* before);
  reply poll(const lock_row& row, moment clock) const;
  reply take(lock_row& row, const request& q, const view& by);
  reply take_over(lock_row& row, const request& q, const view& by);
  reply extend(lock_row& row, const request& q, const view& by);
  reply release(lock_row& row, const request& q, const view& by);
  reply cancel(lock_row& row, const request& q, const view& by);
  /// An expiry of its own that begins now.
  moment expiry_of(const lock_row& row, moment clock, microseconds ttl) const noexcept;
  bool is(mistake one) const noexcept { return wrong == one; }

  rows locks_{};
  sessions sessions_{};
  std::uint64_t floor_ = 0;
};

}  // namespace dlock::simulation
