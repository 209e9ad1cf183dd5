// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "dlock/store_interface/store_admin.hpp"
#include "stores/key_listeners.hpp"
#include "stores/mysql/client/client.hpp"
#include "stores/mysql/parked/parked_waiters.hpp"
#include "stores/mysql/shared_table/connection.hpp"
#include "stores/mysql/shared_table/layout.hpp"

namespace dlock::stores::mysql::shared_table {

/// What `:ttl` must be for a lease of that time: rounded up to what the column keeps.
inline microseconds rounded_up(microseconds ttl, microseconds unit) noexcept {
  return (ttl + unit - microseconds{1}) / unit * unit;
}

/// A store on a table that other programs share. Its leases end by an expiry in the row, which the service renews; the
/// row names session and attempt of its holder, so that what comes late is known by its name. A scheme says which
/// table, and with which statements.
class shared_table_store : public store, private store_admin {
 public:
  explicit shared_table_store(table_scheme scheme, bool fenced = false)
      : client_(scheme.settings), scheme_(std::move(scheme)), fenced_(fenced) {}

  const std::string& name() const noexcept override { return scheme_.settings.name; }
  capabilities caps() const noexcept override {
    // Without a fence its place is taken by the attempt's nonce: it names the grant.
    return {.session_leases = false,
            .batch = false,
            .renewed_leases = true,
            .fence = fenced_,
            .min_hold = false,
            .wakes_one = wakes(),
            .others_release = wakes(),
            .any_key = false};
  }
  bool takes_wait() const noexcept override { return !client_.can_refuse_to_wait(); }
  std::string unfit_key(std::string_view key) const override;
  void prepare() override;
  std::unique_ptr<connection> connect(microseconds limit, fault& why) noexcept override {
    return connect(limit, why, {});
  }
  std::unique_ptr<connection> connect(microseconds limit, fault& why, const std::stop_token& cancel) noexcept override;
  void execute(connection& connection, std::span<const request> requests, std::span<reply> replies) noexcept override;
  /// No lease depends on a session, so none has a row.
  reply session(connection&, session_verb, const session_record&) noexcept override { return {.result = outcome::yes}; }
  void watch(std::string_view key, const id128& session, key_listener& listener) noexcept override {
    if (auto* const all = waiters(); all != nullptr) all->watch(key, session, listener);
  }
  void unwatch(std::string_view key, const id128&, key_listener& listener) noexcept override {
    if (auto* const all = waiters(); all != nullptr) all->unwatch(key, listener);
  }
  void listen(store_listener& listener) noexcept override { listeners_.add(listener); }
  void unlisten(store_listener& listener) noexcept override { listeners_.remove(listener); }
  bool terminate(connection& connection, const connection_identity& lost) noexcept override {
    return end_lost_connection(static_cast<native&>(connection), lost);
  }
  store_admin* admin() noexcept override { return this; }

 protected:
  using native = shared_connection;

  /// Every verb but poll.
  virtual reply change(native& with, const request& request);
  /// How the row names us: what is written at a grant, and what the row must have for the other verbs.
  virtual std::string our_name(const request& request) const;
  /// The fence of a grant. Before, it is what came with the server's answer.
  virtual void tell_fence(native&, const request& request, reply& answer) const { answer.fence = request.nonce; }
  /// Null before prepare().
  std::shared_ptr<const scheme_sql> sql() const {
    const base::lock_guard lock(mutex_);
    return sql_;
  }
  /// The holder whom such a text names, with nonce and fence. `fence`: the row's, 0 where it has none.
  virtual seen holder_named(std::string_view owner, std::uint64_t fence) const;

 private:
  reply inspect(connection& connection, const request& key, std::vector<holder_info>& found) noexcept override;
  reply list(connection& connection, std::string_view after, std::size_t limit,
             std::vector<holder_info>& found) noexcept override;
  /// No session keeps a key. no: it is free, or may be released in its holder's name; another program's may not.
  reply revoke(connection& connection, const request& key) noexcept override;
  /// How many they are: no session has a row that would say who.
  reply waiters(connection& connection, std::string_view key, std::size_t limit,
                waiter_overview& found) noexcept override;
  reply cleanup(connection& connection, microseconds idle, std::size_t limit) noexcept override;
  reply examine(connection& connection, std::vector<store_finding>& found) noexcept override;

  /// What verb::take does, with the parameters set. Fewer statements than two are the rule.
  static reply take(native& with, const scheme_sql& sql, const request& request);
  /// An extension that must not wait, where the server has no option for that: first asks for the row, by a read that
  /// locks.
  reply change_unlocked(native& with, const request& request);
  reply poll(native& with, const request& request) const;
  /// Where there are none to be seen, nothing is counted.
  reply count_waiters(connection& connection, std::vector<holder_info>& of) noexcept;
  bool wakes() const noexcept { return !scheme_.settings.waiter_table.empty(); }
  /// Null where waiters only poll, and before prepare().
  parked::parked_waiters* waiters() const noexcept {
    const base::lock_guard lock(mutex_);
    return waiters_.get();
  }
  reply holders(connection& connection, const std::string& condition, std::vector<holder_info>& found) noexcept;

  mysql_client client_;
  const table_scheme scheme_;
  const bool fenced_;
  store_listeners listeners_{};
  mutable base::mutex mutex_;
  std::shared_ptr<const scheme_sql> sql_ DLOCK_GUARDED_BY(mutex_){};  // null before prepare()
  // Those of a former prepare(): connections refer to them.
  std::vector<std::shared_ptr<const scheme_sql>> former_ DLOCK_GUARDED_BY(mutex_){};
  std::unique_ptr<parked::parked_waiters> waiters_ DLOCK_GUARDED_BY(mutex_){};  // ends before its client
};

}  // namespace dlock::stores::mysql::shared_table
