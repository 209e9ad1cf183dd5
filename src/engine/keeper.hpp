// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "engine/context.hpp"
#include "engine/grant.hpp"
#include "engine/herald.hpp"

namespace dlock::detail {

/// Opens, renews and retires this process's sessions: one renewal statement per session and third of its ttl,
/// however many leases it keeps, on a connection that runs nothing else where it can be had (rule 3).
class keeper {
 public:
  /// What becomes of a session that ended: the grants that end with it are handed over, its row may be
  /// deleted. Null: just the grants.
  using retired = std::function<void(std::shared_ptr<session>, std::vector<std::shared_ptr<grant>>, loss_reason)>;

  /// `attend`: called when a session was opened: time to look at the clock again.
  keeper(context& shared, herald& news, retired tell, std::function<void()> attend)
      : shared_(shared), news_(news), tell_(std::move(tell)), attend_(std::move(attend)) {}

  /// The live session of a ttl class, opened if need be: then one statement, on a pooled connection. Counts
  /// as a user until unpin(). Null: `why` says the reason.
  std::shared_ptr<session> pin(microseconds ttl, instant until, fault& why);
  void unpin(session& of) noexcept;
  /// Once more, of a session that is pinned. False: it is over.
  bool pin_again(const std::shared_ptr<session>& of) noexcept;

  /// Puts a grant under its session (and takes over the pin). False: that session is over.
  bool link(grant& one) noexcept;
  /// Takes it out and unpins. Harmless if it was not linked.
  void unlink(grant& one) noexcept;

  /// Ends a session for ever (rule 5). Any thread; only the first call counts.
  void retire(const std::shared_ptr<session>& one, loss_reason reason);
  void retire_all(loss_reason reason);
  /// An attempt under this session has no outcome yet: retires it when there are too many (rule 6).
  void haunted(const std::shared_ptr<session>& by);
  void settled(session& by) noexcept;

  /// Called at every new connection: another server than before proves nothing about our rows (rule 15).
  void greeted(const connection_identity& server);

  /// Thread bodies. run(): renews until stop(). tick(): by the alarm thread; retires what is past its
  /// deadline. Returns when it wants to be called again.
  void run();
  void stop() noexcept;
  instant tick(instant now);

  void for_each_grant(const std::function<void(const grant&)>& use);
  /// The sessions that are alive, to be closed at the end.
  std::vector<std::shared_ptr<session>> live();

 private:
  std::shared_ptr<session> open(microseconds ttl, instant until, fault& why);
  std::shared_ptr<session> next_due(instant now, instant& due);
  instant interrupt_at() const;
  microseconds limit_to_connect(const session& one) const;
  bool idle(const session& one, instant now) const noexcept;
  void renew(const std::shared_ptr<session>& one, std::unique_lock<std::mutex>& lock);
  bool send_renewal(session& one, instant until, instant& sent, reply& answer);
  static void put(grant*& head, grant& one) noexcept;
  void end(const std::shared_ptr<session>& one, loss_reason reason, std::unique_lock<std::mutex>& lock);

  context& shared_;
  herald& news_;
  const retired tell_;
  const std::function<void()> attend_;
  std::mutex mutex_;
  std::condition_variable wake_;    // the keeper thread
  std::condition_variable opened_;  // those who wait for a session that another thread opens
  // Guarded by mutex_:
  std::map<microseconds, std::shared_ptr<session>> sessions_;
  std::map<microseconds, bool> answered_;  // of a ttl class: whether its last renewal was, in time
  std::set<microseconds> opening_;
  grant* orphans_ = nullptr;               // with an expiry of their own, under a session that is over
  connection* renewing_ = nullptr;         // in mid-statement ...
  const session* renewing_for_ = nullptr;  // ... for this one, null: which has been interrupted already ...
  instant renewing_limit_{};               // ... and does not wait longer
  std::string server_;
  bool stop_ = false;
};

}  // namespace dlock::detail
