// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlock/store_interface/holder_info.hpp"
#include "dlock/store_interface/store_types.hpp"
#include "simulation/mistakes.hpp"
#include "simulation/store_kind.hpp"
#include "simulation/world.hpp"

namespace dlock::simulation {

/// What a request holds through one process (capabilities::request_ids).
struct request_hold {
  id128 session{};
  std::uint64_t nonce = 0;
  std::uint64_t fence = 0;
  moment expires = 0;
};

struct lock_row {
  id128 session{};  ///< zero: nobody
  std::uint64_t nonce = 0;
  std::uint64_t fence = 0;
  moment acquired = 0;
  std::optional<moment> expires{};  ///< none: kept by its session
  bool of_table = false;            ///< a row of the application's
  bool by_column = false;     ///< ... which is kept by its expiry column, in whole seconds; the version is the fence
  std::string foreign{};      ///< what another program has written as its owner; then there is no session
  bool mark = false;          ///< of a row: what verify changes
  std::uint64_t version = 0;  ///< of the row, where it is not the fence
  std::string request{};      ///< the request that holds it; empty: none does
  std::vector<request_hold> holds{};  ///< of that request; session, nonce and fence are those of the last one
  std::uint64_t position = 0;         ///< of the queue, if that was granted the row and no take has come for it
  moment changed = 0;                 ///< when it was granted or freed, in the time of the world
  std::uint64_t locked_by = 0;        ///< connection of the transaction that has the row lock; 0: none
  std::uint64_t closings = 0;         ///< the column `verifies`: how often the key was closed to members
  std::uint64_t verified_by = 0;      ///< of a closed key: one of the callers that have closed it

  bool held() const noexcept { return session || !foreign.empty(); }
  /// Whether its own expiry has passed at that time: of a column, when now() in whole seconds is greater.
  bool passed(moment clock) const noexcept;
  /// Whether readers and holders of permits share it.
  membership shared() const noexcept;
};

/// A reader, or a holder of permits.
struct member_row {
  id128 session{};
  std::uint64_t nonce = 0;
  std::uint32_t units = 0;
  std::uint64_t fence = 0;
  moment joined = 0;
};

struct session_row {
  moment expires = 0;
  moment ttl = 0;
  bool revoked = false;
  std::string host{};
  std::int64_t pid = 0;
  std::string label{};
};

class process;

/// Told of every change of a lock, in the moment when it happens.
class history {
 public:
  /// `row` is how it was before; null: it was not there. `by`: a take, insert or take-over.
  virtual void granted(const request& by, const lock_row* row, std::uint64_t fence) = 0;
  /// A release or cancellation frees it.
  virtual void freed(const request& by, const lock_row& row) = 0;
  /// A release keeps it for so long, because of its min_hold.
  virtual void kept(const request& by, moment time) = 0;
  virtual void extended(const request& by, const lock_row& row) = 0;
  /// The row's holder has reserved fencing tokens, up to the row's fence.
  virtual void reserved(const request& by, const lock_row& row) = 0;
  /// That process asks for it.
  virtual void opens(process& of, const id128& session) = 0;
  virtual void opened(const id128& session) = 0;
  /// Its own service closes it: what it keeps is free.
  virtual void closed(const id128& session) = 0;
  /// The server has removed an expired session, and what that held is free.
  virtual void ended(const std::string& key, const lock_row& row) = 0;
  /// Another program takes it.
  virtual void taken(const std::string& key, const lock_row& row, std::uint64_t fence) = 0;
  /// The store notifies that process of a deadlock cycle that contains one of its waits.
  virtual void cycle_told(const process& by) = 0;
  /// That process sleeps with that wake id from now on.
  virtual void joined(process& of, std::uint64_t wake_id) = 0;
  /// Another process deletes the row of that one in the waiter table. It has seen the key free, with that fence.
  virtual void passed_over(const std::string& key, std::uint64_t wake_id, std::uint64_t fence) = 0;
  /// The key is opened to members, closed to new ones, or freed because it has none. `row`: how it is from now on;
  /// `before` is null if it was not there.
  virtual void shared(const std::string& key, const lock_row* before, const lock_row& row) = 0;
  /// Somebody becomes a member. `permits`: of how many units in all; 0: of any number.
  virtual void member_joins(const std::string& key, const member_row& who, std::uint32_t permits) = 0;
  /// A member leaves, or is removed: it is still there.
  virtual void member_goes(const std::string& key, const member_row& who) = 0;

 protected:
  ~history() = default;
};

/// The lock tables, and what statements do to them: one at a time, each in one step. docs/protocol.md has the
/// statements.
class database {
 public:
  using rows = std::map<std::string, lock_row, std::less<>>;
  using sessions = std::map<id128, session_row>;
  using members = std::map<std::string, std::vector<member_row>, std::less<>>;

  /// The tables as they were.
  struct snapshot {
    rows locks{};
    sessions session_rows{};
    members member_rows{};
  };

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
  /// Also of who has no right to it.
  void free(lock_row& row, moment clock) noexcept;

  // Where the server ends sessions, and keeps a queue.
  /// Removes the session, if it has expired. The keys that are free by that.
  std::vector<std::string> end_session(const id128& id, moment clock);
  /// A position in the queue of a key, which is free, gets the key.
  void grant_position(const std::string& key, const id128& session, std::uint64_t position, moment clock);
  /// A take of the client comes for what its position was granted. 0: somebody else has the key, or nobody.
  std::uint64_t take_position(const std::string& key, std::uint64_t position, std::uint64_t nonce);
  /// The client has left that position. True: it had the key, which is free now.
  bool leave_position(const std::string& key, std::uint64_t position, moment clock);

  // What statements about members do (sql_execution.hpp).
  snapshot all() const { return {locks_, sessions_, members_}; }
  void add_lock(const std::string& key, lock_row row);
  /// `by`: the request that this grants, if it does.
  void change_lock(const std::string& key, lock_row& row, lock_row to, const request& by);
  /// False: it is a member already.
  bool add_member(const std::string& key, const member_row& who, std::uint32_t permits);
  /// False: none of them is one to be removed.
  bool remove_members(const std::function<bool(const std::string& key, const member_row& who)>& which);
  const members& all_members() const noexcept { return members_; }
  std::uint64_t floor() const noexcept { return floor_; }
  /// Members of sessions that are alive.
  std::vector<member_row> living_members(std::string_view key, moment clock) const;

  // What operators and clean-up ask.
  std::optional<holder_info> describe(const std::string& key, moment clock) const;
  bool revoke(std::string_view key);
  std::uint64_t cleanup(moment idle, std::size_t limit, moment clock);

  /// Whether nobody has a right to it any more, at that time: what a grant must find.
  bool over(const lock_row& row, moment clock) const;
  /// Whether that attempt may hold the row at that time, as far as its own expiry and its session go.
  bool over(const lock_row& row, const id128& session, std::uint64_t nonce, moment clock) const;
  /// Whether the row shows that grant.
  static bool shows(const lock_row& row, const id128& session, std::uint64_t nonce, std::uint64_t fence) noexcept;
  /// Since when nobody holds it, in the time of the world; none: it is held.
  std::optional<moment> free_since(const lock_row& row, moment clock, moment world_now) const;
  const rows& locks() const noexcept { return locks_; }
  rows& locks() noexcept { return locks_; }
  const sessions& all_sessions() const noexcept { return sessions_; }
  sessions& all_sessions() noexcept { return sessions_; }

  mistake wrong = mistake::none;
  store_traits traits{};
  history* observer = nullptr;
  const world* in = nullptr;  ///< null: there is no other time than the statements'
  bool sets_in_order = true;  ///< as MySQL: an assignment of an UPDATE sees those before it

 private:
  reply grant(lock_row& row, const request& q, const view& by, const lock_row* before);
  reply poll(const lock_row& row, moment clock) const;
  reply take(lock_row& row, const request& q, const view& by);
  reply take_over(lock_row& row, const request& q, const view& by);
  reply extend(lock_row& row, const request& q, const view& by);
  reply release(lock_row& row, const request& q, const view& by);
  reply cancel(lock_row& row, const request& q, const view& by);
  reply reserve(lock_row& row, const request& q);
  reply pass_on(lock_row& row, const request& q, const view& by);
  reply enter(lock_row& row, const request& q, const view& by);
  request_hold* hold_of(lock_row& row, const request& q) noexcept;
  reply leave(lock_row& row, const request& q, request_hold& hold, moment clock);
  void mark(lock_row& row) const noexcept {
    if (in != nullptr) row.changed = in->now();
  }
  /// An expiry of its own that begins now.
  moment expiry_of(const lock_row& row, moment clock, microseconds ttl) const noexcept;
  bool is(mistake one) const noexcept { return wrong == one; }

  rows locks_{};
  sessions sessions_{};
  members members_{};
  std::map<id128, moment> ended_{};  // those that are gone, and when they ended
  std::uint64_t floor_ = 0;
  std::uint64_t last_fence_ = 0;  // where there is one row of numbers for all keys
};

}  // namespace dlock::simulation
