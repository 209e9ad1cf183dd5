// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "stores/mysql/lease_table/admin.hpp"
#include "stores/mysql/lease_table/application_database.hpp"
#include "stores/mysql/lease_table/tables.hpp"

namespace dlock::stores::mysql::lease_table {

/// Locks in tables of MySQL or MariaDB. The rules that the comments name are those of docs/protocol.md.
class mysql_store final : public store {
 public:
  explicit mysql_store(lease_settings settings) : tables_(std::move(settings)) {}

  const std::string& name() const noexcept override { return tables_.settings.name; }
  capabilities caps() const noexcept override {
    return {.rows = true,
            .wakes_one = tables_.settings.wake,
            .wakes_others = true,
            .passes_on = true,
            .keeps_order = tables_.settings.wake,
            .extends_unlocked = true};
  }
  bool takes_wait() const noexcept override { return !tables_.client.can_refuse_to_wait(); }
  void prepare() override;
  std::unique_ptr<connection> connect(microseconds limit, fault& why) noexcept override {
    return connect(limit, why, {});
  }
  std::unique_ptr<connection> connect(microseconds limit, fault& why, const std::stop_token& cancel) noexcept override {
    return tables_.open(limit, cancel, why);
  }
  void execute(connection& on, std::span<const request> requests, std::span<reply> replies) noexcept override;
  reply session(connection& on, session_verb action, const session_record& of) noexcept override;
  void watch(std::string_view key, const id128& session, key_listener& listener) noexcept override {
    if (tables_.settings.wake) tables_.waiters.watch(key, session, listener);
  }
  void unwatch(std::string_view key, const id128&, key_listener& listener) noexcept override {
    tables_.waiters.unwatch(key, listener);
  }
  void waiters_changed(std::string_view key) noexcept override { tables_.waiters.changed(key); }
  void listen(store_listener& listener) noexcept override { tables_.listeners.add(listener); }
  void unlisten(store_listener& listener) noexcept override { tables_.listeners.remove(listener); }
  bool terminate(connection& on, const connection_identity& lost) noexcept override {
    return end_lost_connection(static_cast<native&>(on), lost);
  }
  store_admin* admin() noexcept override { return &admin_; }
  transactional_store* transactions() noexcept override { return &application_; }

 private:
  using native = lease_connection;

  void execute_all(native& with, std::span<const request> requests, std::span<reply> replies) noexcept;
  /// take, take_over and poll with request::in_order.
  reply in_order(native& with, const request& asked);
  reply take_in_order(native& with, const request& asked);
  reply poll_in_order(native& with, const request& asked);
  /// A release that asks for a waiter in the same statement, and wakes it.
  reply release_and_wake(native& with, const request& asked);

  lease_tables tables_;
  mysql_application_database application_{tables_};
  mysql_admin admin_{tables_, application_};
};

}  // namespace dlock::stores::mysql::lease_table
