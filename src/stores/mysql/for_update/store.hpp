// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "dlock/store_interface/store_admin.hpp"
#include "dlock/stores/mysql_for_update.hpp"
#include "stores/hangup_watch.hpp"
#include "stores/key_listeners.hpp"
#include "stores/mysql/bound/blocking_waiters.hpp"
#include "stores/mysql/bound/lock_holding_connection.hpp"
#include "stores/mysql/client/client.hpp"
#include "stores/mysql/shared_table/layout.hpp"

namespace dlock::stores::mysql::for_update {

/// A connection whose open transaction can have a row locked. It never commits.
struct row_lock_connection {
  row_lock_connection(std::unique_ptr<mysql_connection> connection, std::chrono::milliseconds timeout)
      : link(std::move(connection), timeout) {}

  lock_holding_connection link;
  key_statement* take = nullptr;
  // Guarded by the exclusive use:
  bool found = false;         ///< the last take found a row
  std::uint64_t noticed = 0;  ///< the watch of the connection, while it holds a row
};

/// A store's connections, one for each held lock, and the registry of these locks. Thread safety: all functions from
/// any thread. It does no I/O except to end a connection.
class link_pool {
 public:
  explicit link_pool(std::size_t most) : most_(most) {}

  struct held {
    id128 session{};
    std::uint64_t nonce = 0;
    std::shared_ptr<row_lock_connection> link{};
  };

  /// A connection in use, or the right to make one (`link` is null). Its destructor ends the connection, unless it was
  /// put back or holds a row.
  class borrowed {
   public:
    borrowed(link_pool& from, std::shared_ptr<row_lock_connection> which) noexcept
        : link(std::move(which)), from_(&from) {}
    borrowed(borrowed&& from) noexcept : link(std::move(from.link)), from_(std::exchange(from.from_, nullptr)) {}
    borrowed& operator=(borrowed&&) = delete;
    ~borrowed();
    void put_back();
    /// Records in the registry what the connection holds. Returns false if this process already holds the key.
    bool hold(std::string_view key, const id128& session, std::uint64_t nonce);

    std::shared_ptr<row_lock_connection> link;

   private:
    link_pool* from_;
  };

  /// Returns nothing if all are in use.
  std::optional<borrowed> borrow();
  std::optional<held> find(std::string_view key) const;
  /// Removes the grant from the registry, if the key still has it.
  std::optional<borrowed> remove(std::string_view key, const held& grant);
  /// Lists keys greater than `after`, in byte order.
  std::vector<std::pair<std::string, id128>> list(std::string_view after, std::size_t limit) const;

 private:
  const std::size_t most_;
  mutable base::mutex mutex_;
  std::size_t count_ DLOCK_GUARDED_BY(mutex_) = 0;  // idle, held, and borrowed
  std::vector<std::shared_ptr<row_lock_connection>> idle_ DLOCK_GUARDED_BY(mutex_){};
  std::map<std::string, held, std::less<>> held_ DLOCK_GUARDED_BY(mutex_){};
};

struct for_update_settings : shared_table::table_settings {
  /// The URL takes precedence over `options`. Throws std::invalid_argument naming the parameter and its value.
  for_update_settings(store_url url, const for_update_options& options);

  std::string key{};
  std::size_t held = 0;
  bool make_rows = false;
  std::size_t waiters = 0;
};

/// SELECT ... FOR UPDATE: a held lock is a row that an open transaction has locked, on a separate connection.
class for_update_store final : public store, private store_admin {
 public:
  explicit for_update_store(for_update_settings settings);

  const std::string& name() const noexcept override { return settings_.name; }
  capabilities caps() const noexcept override {
    return {.session_leases = false,
            .expiring_leases = false,
            .batch = false,
            .renewed_leases = true,
            .fence = false,
            .min_hold = false,
            .waits = settings_.waiters != 0 ? waiting::notified : waiting::polls,
            .any_key = false};
  }
  std::string unfit_key(std::string_view key) const override;
  void prepare() override;
  std::unique_ptr<connection> connect(microseconds limit, fault& why) noexcept override {
    return connect(limit, why, {});
  }
  std::unique_ptr<connection> connect(microseconds limit, fault& why, const std::stop_token& cancel) noexcept override {
    return client_.open<waiting_connection>(limit, cancel, why);
  }
  void execute(connection& connection, std::span<const request> requests, std::span<reply> replies) noexcept override;
  /// No lease depends on a session, because each has a separate connection.
  reply session(connection&, session_verb, const session_record&) noexcept override { return {.result = outcome::yes}; }
  void watch(std::string_view key, const id128& session, key_listener& listener) noexcept override {
    waiters_.watch(key, session, listener);
  }
  void unwatch(std::string_view key, const id128&, key_listener& listener) noexcept override {
    waiters_.unwatch(key, listener);
  }
  /// The engine's connections leave nothing behind.
  bool terminate(connection&, const connection_identity&) noexcept override { return true; }
  store_admin* admin() noexcept override { return this; }
  void listen(store_listener& listener) noexcept override { listeners_.add(listener); }
  void unlisten(store_listener& listener) noexcept override { listeners_.remove(listener); }

 private:
  /// The statements for the existing table.
  struct row_table_sql {
    std::string table{};
    shared_table::column key{};
    std::string begin{};        ///< "FROM <table> WHERE <key>="
    std::string take{};         ///< with the key as a parameter
    std::string idle_limits{};  ///< settings of a new connection; may be empty
    std::string
        selected{};  ///< what a poll selects, so that it locks the row itself and not only its entry in an index
    const char* shared = "";  ///< the end of a poll
    std::string where(std::string_view key) const;
  };

  reply inspect(connection& connection, const request& key, std::vector<holder_info>& found) noexcept override;
  /// Lists only this store's keys, because the server lists none.
  reply list(connection& connection, std::string_view after, std::size_t limit,
             std::vector<holder_info>& found) noexcept override;
  reply revoke(connection&, const request&) noexcept override { return {.result = outcome::no, .statements = 0}; }
  reply cleanup(connection&, microseconds, std::size_t) noexcept override {
    return {.result = outcome::yes, .statements = 0};
  }
  reply waiters(connection& connection, std::string_view key, std::size_t limit,
                waiter_overview& found) noexcept override;
  reply examine(connection& connection, std::vector<store_finding>& found) noexcept override;

  reply take(waiting_connection& by, const request& request);
  reply lock_row(waiting_connection& by, const request& request, const std::shared_ptr<row_lock_connection>& on);
  reply make_row(waiting_connection& by, const request& request) const;
  reply extend(waiting_connection& by, const request& request);
  reply free(waiting_connection& by, const request& request);
  std::optional<link_pool::borrowed> remove(std::string_view key, const link_pool::held& grant);
  reply poll(waiting_connection& by, const request& request) const;
  bool table_is_locked(waiting_connection& by, const row_table_sql& rows, reply& polled) const;
  std::shared_ptr<row_lock_connection> open(waiting_connection& by, fault& why);
  std::string queue_of(std::string_view key) const;
  std::shared_ptr<const row_table_sql> known() const {
    const base::lock_guard lock(mutex_);
    return rows_;
  }

  const for_update_settings settings_;
  mysql_client client_;
  store_listeners listeners_{};
  hangup_watch hangups_{};  // destroyed after the connections
  link_pool pool_;
  mutable base::mutex mutex_;
  std::shared_ptr<const row_table_sql> rows_ DLOCK_GUARDED_BY(mutex_){};  // null before prepare()
  blocking_waiters waiters_;                                              // its thread uses rows_
};

}  // namespace dlock::stores::mysql::for_update
