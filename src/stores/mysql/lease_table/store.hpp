// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dlock/store_interface/store_admin.hpp"
#include "stores/key_listeners.hpp"
#include "stores/mysql/client/client.hpp"
#include "stores/mysql/client/settings.hpp"
#include "stores/mysql/lease_table/connection.hpp"
#include "stores/mysql/lease_table/member_waiters.hpp"
#include "stores/mysql/lease_table/row_sql.hpp"
#include "stores/mysql/lease_table/sql.hpp"
#include "stores/mysql/parked/parked_waiters.hpp"
#include "stores/sql/admin.hpp"
#include "stores/sql/application_rows.hpp"
#include "stores/sql/done_marks.hpp"
#include "stores/sql/schema.hpp"
#include "stores/sql/shared_keys.hpp"

namespace dlock::stores::mysql::lease_table {

using lease_settings = sql::lease_settings<mysql_settings>;

/// The table of what was done once.
class mysql_marks final : public sql::done_marks {
 public:
  mysql_marks(const sql::table_names& names, const std::string& database, bool creates);

 private:
  std::string literal(const sql::sql_value& value) const override;
  std::string_view synced(sql::sql_connection& on) const override {
    return static_cast<lease_connection&>(on).sync_prefix();
  }
};

/// The lock tables and their server, which the objects of a store share. Thread safety: all functions may be called
/// from any thread.
struct lease_tables {
  explicit lease_tables(lease_settings from);

  /// Reads the id of the lock tables, unless it is known. One statement.
  reply read_id(lease_connection& with);
  /// Whether keys may have members. A shared lock of a row is local to a node of a cluster. True before prepare().
  bool shares() const noexcept;
  /// Whether that server wakes waiters, and so has readable rows of them.
  bool knows_waiters(const lease_connection& with) const noexcept {
    return settings.wake && waiters.table().can_read(with);
  }

  const lease_settings settings;
  const lease_sql sql;
  mysql_row_sql row_sql;
  mysql_marks marks;
  sql::shared_keys shared;
  waiters_for_members member_waiters;
  mysql_client client;
  store_listeners listeners{};
  parked::parked_waiters waiters;  // destroyed before its client
};

/// The message that the floor table has no row with the id of the lock tables.
std::string no_tables_id(const std::string& floor_table);

/// Completes a table of which only the name is known: its database and its primary key. At most two statements. If it
/// returns failed, `why` names what is missing.
outcome describe_table(MYSQL* handle, row_table& table, fault& why);

/// Locks in the application's own transactions.
class mysql_application_database final : public sql::application_rows {
 public:
  explicit mysql_application_database(lease_tables& tables)
      : application_rows(tables.row_sql, tables.shared, key_words(tables.row_sql.names())), tables_(tables) {}

  reply blocker(connection& on, const request& key, connection_identity& out) noexcept override;
  bool caller_may_wait(fault&) const noexcept override { return true; }

  sql::client_library library() const noexcept override { return sql::client_library::mysql; }
  outcome shares(const sql::application_connection& with, fault& why) const override;
  outcome glance(const sql::application_connection& with) const noexcept override;
  sql::transaction_state transaction_on(const sql::application_connection& with) const noexcept override;
  void break_off(const sql::application_connection& with) const noexcept override;
  std::string catch_up() const override;
  bool ends_unseen() const noexcept override;
  std::string sees(const request& grant) const override;
  outcome describe(const sql::application_connection& with, row_table& table, fault& why) const override;
  sql::application_address address() const override;
  std::function<void*(fault&)> connector() const override;
  std::string unfit_id(const row_table& table, std::span<const row_value> values) const override;
  fault fault_of(int native, std::string_view sqlstate, std::string_view text) const override;
  bool may_be_done(const fault& why) const noexcept override;
  std::string lock_and_skip(const row_table& table) const override;
  bool locks_joined_rows() const noexcept override { return tables_.client.is_mariadb(); }
  sql::done_statements mark_as_done(std::string_view key, std::optional<microseconds> valid,
                                    std::string_view by) const override {
    return tables_.marks.for_transaction(key, valid, by, and_here());
  }
  /// Throws store_error if the id of the lock tables is unknown.
  std::string claim(const sql::claim_request& request) const override;

 private:
  std::string and_here() const override;

  lease_tables& tables_;
};

/// Operators' queries and the clean-up of the lock tables.
class mysql_admin final : public sql::lease_admin {
 public:
  explicit mysql_admin(lease_tables& tables)
      : lease_admin(tables.sql.names(), tables.row_sql, tables.shared), tables_(tables) {}

  reply waiters(connection& on, std::string_view key, std::size_t limit, waiter_overview& found) noexcept override;
  reply examine(connection& on, std::vector<store_finding>& found) noexcept override;

 private:
  reply count_waiters(sql::sql_connection& on, std::vector<holder_info>& of) override;
  reply read_tables_id(sql::sql_connection& on) override;
  table_question tables_with_locks(std::string_view name) const override;
  reply read_size(sql::sql_connection& on, std::string& size) const override;
  reply describe(sql::sql_connection& on, row_table& table) const override;
  reply clean_marks(sql::sql_connection& on, std::size_t limit) override { return tables_.marks.clean(on, limit); }

  lease_tables& tables_;
};

/// Locks in tables of MySQL or MariaDB. The rules that the comments name are those of docs/protocol.md.
class mysql_store final : public store {
 public:
  explicit mysql_store(lease_settings settings) : tables_(std::move(settings)) {}

  const std::string& name() const noexcept override { return tables_.settings.name; }
  capabilities caps() const noexcept override {
    return {.rows = true,
            .waits = tables_.settings.wake ? waiting::woken : waiting::polls_and_wakes,
            .passes_on = true,
            .lingers = tables_.settings.wake,
            .keeps_order = tables_.settings.wake,
            .shares = tables_.shares(),
            .marks = true};
  }
  bool takes_wait() const noexcept override { return !tables_.client.can_refuse_to_wait(); }
  void prepare() override;
  std::unique_ptr<connection> connect(microseconds limit, fault& why) noexcept override {
    return connect(limit, why, {});
  }
  std::unique_ptr<connection> connect(microseconds limit, fault& why, const std::stop_token& cancel) noexcept override {
    return tables_.client.open<lease_connection>(limit, cancel, why, tables_.sql, tables_.row_sql);
  }
  void execute(connection& on, std::span<const request> requests, std::span<reply> replies) noexcept override;
  reply session(connection& on, session_verb action, const session_record& of) noexcept override;
  void watch(std::string_view key, const id128& session, key_listener& listener) noexcept override {
    if (tables_.settings.wake) tables_.waiters.watch(key, session, listener);
  }
  void unwatch(std::string_view key, const id128&, key_listener& listener) noexcept override {
    tables_.waiters.unwatch(key, listener);
  }
  reply waited_for(connection& on, std::span<const request> keys, std::span<reply> replies) noexcept override;
  void waiters_changed(std::string_view key) noexcept override { tables_.waiters.changed(key); }
  void listen(store_listener& listener) noexcept override { tables_.listeners.add(listener); }
  void unlisten(store_listener& listener) noexcept override { tables_.listeners.remove(listener); }
  bool terminate(connection& on, const connection_identity& lost) noexcept override {
    return end_lost_connection(static_cast<native&>(on), lost);
  }
  store_admin* admin() noexcept override { return &admin_; }
  transactional_store* transactions() noexcept override { return &application_; }
  mark_store* marks() noexcept override { return &tables_.marks; }

 private:
  using native = lease_connection;

  void execute_all(native& with, std::span<const request> requests, std::span<reply> replies) noexcept;
  reply execute_shared(native& with, const request& asked);
  /// Whether a change of members wakes a waiter, which then is another process's.
  bool wakes_for_members(native& with);
  reply leave_and_wake(native& with, const request& asked);
  /// take, take_over and poll with request::in_order.
  reply in_order(native& with, const request& asked);
  reply take_in_order(native& with, const request& asked);
  reply poll_in_order(native& with, const request& asked);
  /// A release that finds a waiter in the same statement, and wakes it.
  reply release_and_wake(native& with, const request& asked);

  lease_tables tables_;
  mysql_application_database application_{tables_};
  mysql_admin admin_{tables_};
};

}  // namespace dlock::stores::mysql::lease_table
