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

/// The value of `:ttl` for a lease of that time: rounded up to the column's unit.
inline microseconds rounded_up(microseconds ttl, microseconds unit) noexcept {
  return (ttl + unit - microseconds{1}) / unit * unit;
}

/// A store on a table that other programs share. Its leases end by an expiry in the row, which the service renews. The
/// row names its holder's session and attempt, so that a late statement can't change a later grant. A scheme defines
/// the table and the statements.
class shared_table_store : public store, private store_admin {
 public:
  explicit shared_table_store(table_scheme scheme, bool fenced = false)
      : client_(scheme.settings), scheme_(std::move(scheme)), fenced_(fenced) {}

  const std::string& name() const noexcept override { return scheme_.settings.name; }
  capabilities caps() const noexcept override {
    // Without a fence column the attempt's nonce stands for the fence and names the grant.
    return {.session_leases = false,
            .batch = false,
            .renewed_leases = true,
            .fence = fenced_,
            .min_hold = false,
            .waits = wakes() ? waiting::woken_beside_others : waiting::polls,
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
  /// No lease depends on a session, so no session has a row.
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
  /// The owner's name that a grant writes, and that the other verbs require.
  virtual std::string our_name(const request& request) const;
  /// Sets the fence of a grant; until then it is what the server's reply contained.
  virtual void tell_fence(native&, const request& request, reply& answer) const { answer.fence = request.nonce; }
  /// Null before prepare().
  std::shared_ptr<const scheme_sql> sql() const {
    const base::lock_guard lock(mutex_);
    return sql_;
  }
  /// The holder that a text names, with nonce and fence. `fence` is the row's, or 0 if it has none.
  virtual seen holder_named(std::string_view owner, std::uint64_t fence) const;

 private:
  reply inspect(connection& connection, const request& key, std::vector<holder_info>& found) noexcept override;
  reply list(connection& connection, std::string_view after, std::size_t limit,
             std::vector<holder_info>& found) noexcept override;
  /// No session keeps a key. Returns no if the key is free, or may be released in its holder's name; another program's
  /// may not.
  reply revoke(connection& connection, const request& key) noexcept override;
  /// Only counts them, because no session has a row with details.
  reply waiters(connection& connection, std::string_view key, std::size_t limit,
                waiter_overview& found) noexcept override;
  reply cleanup(connection& connection, microseconds idle, std::size_t limit) noexcept override;
  reply examine(connection& connection, std::vector<store_finding>& found) noexcept override;

  /// Executes verb::take, with the parameters set. It usually needs only one statement.
  static reply take(native& with, const scheme_sql& sql, const request& request);
  /// An extension that must not wait, on a server without an option for that: first checks the row by a locking read.
  reply change_unlocked(native& with, const request& request);
  reply poll(native& with, const request& request) const;
  /// Counts nothing where waiters are not visible.
  reply count_waiters(connection& connection, std::vector<holder_info>& of) noexcept;
  bool wakes() const noexcept { return !scheme_.settings.waiter_table.empty(); }
  /// Null if waiters only poll, and before prepare().
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
  // The statements of earlier calls of prepare(), to which connections refer.
  std::vector<std::shared_ptr<const scheme_sql>> former_ DLOCK_GUARDED_BY(mutex_){};
  std::unique_ptr<parked::parked_waiters> waiters_ DLOCK_GUARDED_BY(mutex_){};  // destroyed before its client
};

}  // namespace dlock::stores::mysql::shared_table
