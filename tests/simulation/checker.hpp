// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/access.hpp"
#include "dlock/lease.hpp"
#include "engine/machines/session_machine.hpp"
#include "engine/registry/grant.hpp"
#include "simulation/process.hpp"
#include "simulation/server.hpp"

namespace dlock::simulation {

/// Sees everything, and knows what must never be: the invariants I1 to I9 of a run. The first one that is broken ends
/// it.
class checker final : public history {
 public:
  checker(world& in, server& at, const plan& how) : world_(in), server_(at), plan_(how) { at.data.observer = this; }

  // What the server does.
  void granted(const request& by, const lock_row* row, std::uint64_t fence) override;
  void freed(const request& by, const lock_row& row) override;
  void kept(const request& by, moment time) override;
  void extended(const request& by, const lock_row& row) override;
  void reserved(const request& by, const lock_row& row) override;
  void opens(process& of, const id128& session) override { sessions_of_[session] = &of; }
  void opened(const id128& session) override;
  void closed(const id128& session) override;
  void ended(const std::string& key, const lock_row& row) override;
  void taken(const std::string& key, const lock_row& row, std::uint64_t fence) override;
  void joined(process& of, std::uint64_t wake_id) override { sleepers_[wake_id] = &of; }
  void passed_over(const std::string& key, std::uint64_t wake_id, std::uint64_t fence) override;
  void shared(const std::string& key, const lock_row* before, const lock_row& row) override;
  void member_joins(const std::string& key, const member_row& who, std::uint32_t permits) override;
  void member_goes(const std::string& key, const member_row& who) override;

  // What the application does.
  /// A lease on that grant was handed out.
  void handed_out(process& to, const std::shared_ptr<engine::grant>& one);
  /// Looks whether it is trusted, and if so whether that is right. True: it is.
  bool check(process& of, const lease& lease);
  /// The observer of that process was told that the grant is lost.
  void loss_notified(const process& to, std::string_view key, std::uint64_t fence);
  /// A call waits for the key until wait_ends(). A key must not stay free while somebody waits for it and nothing
  /// fails.
  void wait_begins(const process& by, std::string_view key, const lock_mode& mode);
  void wait_ends(const process& by, std::string_view key, const lock_mode& mode, bool granted);
  /// A call asks for the exclusive lock, and may close the key to members meanwhile.
  void writer_begins(const process& by, std::string_view key) { state_of(key).writers.push_back(&by); }
  void writer_ends(const process& by, std::string_view key);
  /// A thread that holds these waits for another key from now on, until nest_ends(). `certain`: it releases none of
  /// them before, and nothing else does. For several keys: it may hold some of them while it waits for another.
  struct nest;
  nest& nest_begins(const process& by, std::vector<std::shared_ptr<engine::grant>> meanwhile,
                    std::vector<std::string> waits_for, bool certain, std::chrono::microseconds wait);
  /// A thread of that process learns that its wait is in vain, and will end it when its statement under way is
  /// answered.
  void cycle_told(const process& by) override;
  /// `refused`: because it was in a deadlock cycle.
  void nest_ends(nest& which, bool refused);
  /// Something that the key protects is written, under that grant.
  void write(const std::string& key, std::uint64_t fence);
  /// It is read, by a member with that token.
  void read(const std::string& key, std::uint64_t fence);
  /// An operator, of that process, begins to take a key away. A grant with an expiry of its own that has the key until
  /// force_done() may be freed in its holder's name while its holder trusts it: of that grant nothing is claimed any
  /// more.
  void force_begins(const process& by, const std::string& key);
  void force_done(const process& by, const std::string& key);
  /// A session was told to end, and nothing else: that all goes on as promised.
  void revoked(const std::string& key, std::uint64_t fence) { revoked_[key] = {fence, world_.now()}; }
  bool is_forced(const std::string& key, std::uint64_t fence) const;
  std::vector<member_row> members(const std::string& key) const;
  /// The sessions of all that were members of the key since then were told to end.
  void revoked(const std::string& key, const std::vector<member_row>& before);

  /// Another program has the key's row locked for so long. Only then may the key stay free while others wait for it.
  void row_locked(const std::string& key, moment time);
  /// Somebody deletes the lock. The process that holds it is notified, and must know soon. Null: no process is known.
  process* deleted(const std::string& key, const lock_row& row);

  void units_exceeded(const std::string& key, const member_row& who, std::uint64_t units, std::uint32_t permits,
                      const char* which);
  /// When nothing is held any more, by live processes.
  void check_free(const std::map<id128, process*>& sessions_of);
  const std::map<id128, process*>& sessions() const noexcept { return sessions_of_; }

  std::uint64_t grants = 0;
  std::uint64_t take_overs = 0;

 private:
  struct held {
    std::weak_ptr<engine::grant> of;
    process* by;
    bool observed = false;  ///< the observer was told that it is lost
  };
  struct notified_loss {
    const process* of;
    std::uint64_t fence;
    instant at;  ///< by that process's clock
  };
  struct waiter {
    const process* by;
    moment since;
    lock_mode mode;
  };
  struct passed {
    moment at;
    moment frozen_at;  ///< of its process, which has not run since
  };
  struct key_state {
    std::uint64_t highest = 0;  // fence ever granted
    std::uint64_t written = 0;  // highest that wrote
    std::uint64_t token = 0;    // highest that was handed out with a lease that was trusted
    std::vector<held> holders{};
    std::vector<waiter> waiters{};
    std::vector<notified_loss> losses{};  // the last of each process
    moment forced_at = -1'000'000'000;
    moment found_by = 0;            // that it is free, though no release has said so, or its row is locked
    const process* last = nullptr;  // to which it was granted
    std::map<const process*, passed> passed_over{};
    std::uint64_t last_fence = 0;                          // that a release or a session's end freed
    moment over_since = 0;                                 // from when on it could be taken, before that
    moment members_changed = 0;                            // or it was opened or closed
    moment opened = 0;                                     // to members
    std::map<const process*, moment> left{};               // when a wait of that process ended last
    std::vector<const process*> writers{};                 // each call that asks for the exclusive lock
    moment writer_left = 0;                                // when the last of them ended
    std::vector<std::pair<member_row, moment>> revoked{};  // members, and when
  };
  key_state& state_of(std::string_view key);
  struct forced_grant {
    id128 session;
    std::uint64_t nonce;
    std::uint64_t fence;
  };
  bool is_forced(std::string_view key, const id128& session, std::uint64_t nonce) const;
  /// The grant that has the key now, if an operator is at work on it.
  void force(std::string_view key, const id128& session, std::uint64_t nonce, std::uint64_t fence);
  /// Whose lease on that key is trusted: null: nobody's. Of that grant, or of any that no operator took away and that
  /// is not of that request.
  enum class those : std::uint8_t { all, writers };
  process* trusting(std::string_view key, key_state& at, const lock_row* of, std::string_view request,
                    those which = those::all);
  /// Of a member.
  process* trusting(std::string_view key, key_state& at, const member_row& of);
  /// The units of all members whose leases are trusted, but of that one.
  std::uint64_t trusted_units(std::string_view key, const key_state& at, const member_row& but) const;
  /// Somebody else is going to have it, or to share it.
  void nobody_relies_on(const std::string& key, key_state& at, const lock_row& before);
  bool check_member(process& of, const engine::grant& one);
  /// A key with members can be had at once in that mode since then; none: it can't.
  std::optional<moment> shareable_since(std::string_view key, const key_state& at, const lock_mode& mode) const;
  /// How long a writer has waited, at most, that must have closed the key if that is longer than longest_free(); null:
  /// there is none.
  const process* longest_writer(const key_state& at, moment since, moment& waits) const;
  /// Those who wait have had the time to get it.
  void not_kept_from_members(std::string_view key, const key_state& at, const process* by);
  /// Somebody else has it now, with that fence. `request`: in whose name; empty: in nobody's. `by_holder`: that passes
  /// it on.
  void changes_hands(key_state& at, std::string_view key, const lock_row* row, std::uint64_t fence,
                     std::string_view request, bool by_holder);
  /// A grant that was lost is freed now, by its own service: a margin after that at the earliest.
  void lost_for_a_margin(std::string_view key, const held& each);
  /// Somebody else gets the key now: who has lost it must know.
  void must_know(std::string_view key, const key_state& at, std::string_view request, those which = those::all);
  /// How long a key may be free while somebody waits for it and nothing fails.
  moment longest_free() const noexcept;
  /// How much longer because of processes that stand still, or did so since then: each costs the others one turn.
  moment excused_by_stops(std::string_view key, const key_state& at, moment since, const process& waits) const;
  /// A release or a session's end frees it. It may have been over before.
  void note_freed(std::string_view key, const lock_row& row);
  /// Since when it can be taken; none: it can't be.
  std::optional<moment> takeable_since(const key_state& at, const lock_row& row) const;
  bool excuses(const process& one, std::string_view key, const key_state& at, moment since) const;
  /// With fairness::fifo nobody overtakes a process that waits for longer, unless that leaves the key alone.
  void in_turn(const request& by, const lock_row& row);
  bool holds(const nest& other, const nest& wait, const std::string& key) const;
  /// The waits in the cycle that its wait has closed; empty if none. Without calls for several keys.
  std::vector<nest*> cycle_of(nest& youngest);
  /// What remains of a wait is written by one clock and read by another.
  moment unsure() const noexcept { return 100 * millisecond + 100 * plan_.longest_travel(); }
  /// Whether `from` may wait for `whose`, or for one that does. Waits that end before `least` don't count.
  bool may_wait_for(const nest& whose, const nest& from, moment least, std::set<std::uint64_t>& met) const;
  /// Whether it may be in a cycle of which it is the first to end.
  bool may_be_refused(const nest& wait) const;
  bool closed_by_several(const nest& wait) const;
  /// It is free since then. Those who wait have had the time to take it.
  void not_left_free(std::string_view key, const key_state& at, moment since, const process* by);
  void fail(const std::string& rule, std::string_view key, const std::string& text);

  world& world_;
  server& server_;
  const plan& plan_;
  std::map<std::string, key_state, std::less<>> keys_{};
  std::map<id128, process*> sessions_of_{};
  std::set<id128> opened_{};
  std::map<std::uint64_t, process*> sleepers_{};  // by the wake id
  std::map<std::string, std::vector<forced_grant>, std::less<>> forced_{};
  std::vector<std::pair<const process*, std::string>> forcing_{};
  std::map<std::string, std::pair<std::uint64_t, moment>, std::less<>> revoked_{};  // fence, and when
  std::list<nest> nests_{};
  std::uint64_t last_nest_ = 0;
};

struct checker::nest {
  std::uint64_t number = 0;
  const process* by = nullptr;
  std::vector<std::shared_ptr<engine::grant>> held{};
  std::vector<std::string> waits_for{};
  bool certain = false;
  moment begun = 0;
  moment until = 0;
  moment first_end = 0;  ///< of the waits in its cycle
  bool in_cycle = false;
  std::shared_ptr<unsigned> refused{};  ///< how many of its cycle were
};

}  // namespace dlock::simulation
