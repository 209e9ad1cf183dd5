// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "stores/key_listeners.hpp"
#include "stores/sqlite/lease_table/admin.hpp"
#include "stores/sqlite/lease_table/application_database.hpp"
#include "stores/sqlite/lease_table/connection.hpp"
#include "stores/sqlite/lease_table/file.hpp"
#include "stores/sqlite/lease_table/sleeping_waiters.hpp"

namespace dlock::stores::sqlite::lease_table {

/// Locks in an SQLite file; see dlock/stores/sqlite.hpp.
class sqlite_store final : public store {
 public:
  explicit sqlite_store(const lease_settings& settings, std::shared_ptr<const sqlite_host> host = sqlite_host::here())
      : file_(std::make_shared<lease_file>(settings, std::move(host))),
        waiters_(
            settings.path, settings.prefix, [this] { return file_->unfit_for_waking(); },
            [this](auto& keys, auto& sessions) { return poll_keys(keys, sessions); },
            [this](const std::string& why) { listeners_.waiters_poll(why); }) {}

  const std::string& name() const noexcept override { return file_->settings.name; }
  /// Readers never wait, writers wait for any transaction that writes to the file.
  capabilities caps() const noexcept override {
    return {.rows = true, .wakes_one = file_->wakes, .passes_on = true, .keeps_order = file_->wakes};
  }
  bool takes_wait() const noexcept override { return true; }
  void prepare() override;
  std::unique_ptr<connection> connect(microseconds limit, fault& why) noexcept override {
    return connect(limit, why, {});
  }
  std::unique_ptr<connection> connect(microseconds limit, fault& why, const std::stop_token& cancel) noexcept override;
  void execute(connection& connection, std::span<const request> requests, std::span<reply> replies) noexcept override;
  reply session(connection& connection, session_verb action, const session_record& record) noexcept override;
  void watch(std::string_view key, const id128& session, key_listener& listener) noexcept override {
    if (file_->wakes) waiters_.watch(key, session, listener);
  }
  void unwatch(std::string_view key, const id128&, key_listener& listener) noexcept override {
    if (file_->wakes) waiters_.unwatch(key, listener);
  }
  void waiters_changed(std::string_view key) noexcept override { waiters_.changed(key); }
  void listen(store_listener& listener) noexcept override { listeners_.add(listener); }
  void unlisten(store_listener& listener) noexcept override { listeners_.remove(listener); }
  /// A statement runs within the call that made it: when a connection is lost, nothing of it is left.
  bool terminate(connection&, const connection_identity&) noexcept override { return true; }
  store_admin* admin() noexcept override { return &admin_; }
  transactional_store* transactions() noexcept override { return &application_; }

 private:
  /// Sets who holds the keys, and who has the sessions. False: that can't be known at present.
  bool poll_keys(std::map<std::string, seen>& keys, std::map<id128, std::string>& sessions) noexcept;
  /// Wakes those who wait for what was released.
  void note_done(std::span<const request> requests, std::span<reply> replies) noexcept;
  void execute_all(lease_connection& link, std::span<const request> requests, std::span<reply> replies);
  /// take, take_over and poll with request::in_order.
  reply in_order(lease_connection& link, sqlite_busy_retry& retry, const request& asked);

  std::shared_ptr<lease_file> file_;
  store_listeners listeners_{};
  sqlite_application_database application_{file_};
  sqlite_admin admin_{waiters_, application_};
  sleeping_waiters waiters_;  // the last: its thread uses the others until it has ended
};

}  // namespace dlock::stores::sqlite::lease_table
