// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dlock/store_interface/id128.hpp"
#include "dlock/store_interface/store_admin.hpp"
#include "dlock/store_interface/store_overview.hpp"
#include "stores/sql/admin.hpp"
#include "stores/sql/application_rows.hpp"
#include "stores/sql/done_marks.hpp"
#include "stores/sql/shared_keys.hpp"
#include "stores/sqlite/lease_table/connection.hpp"
#include "stores/sqlite/lease_table/sleeping_waiters.hpp"

namespace dlock::stores::sqlite::lease_table {

/// Completes a table of which only the name is known: its primary key. If it returns failed, `why` names what is
/// missing.
outcome describe_table(sqlite3* handle, const lease_file& file, row_table& table, fault& why);

/// The table of what was done once.
class sqlite_marks final : public sql::done_marks {
 public:
  explicit sqlite_marks(std::shared_ptr<lease_file> file);
  /// Whose caller_may_wait() counts. Called once, before any other function.
  void ask(const transactional_store& transactions) noexcept { transactions_ = &transactions; }

 private:
  std::string literal(const sql::sql_value& value) const override;
  std::optional<std::int64_t> wall() const override { return file_->wall_clock().count(); }
  bool may_wait(fault& why) const noexcept override { return transactions_->caller_may_wait(why); }

  const std::shared_ptr<lease_file> file_;
  const transactional_store* transactions_ = nullptr;
};

/// Locks in the application's own transactions.
class sqlite_application_database final : public sql::application_rows {
 public:
  sqlite_application_database(std::shared_ptr<lease_file> file, const sqlite_marks& marks,
                              const sql::shared_keys& members)
      : application_rows(file->row_sql, members, key_words(file->row_sql.names())),
        file_(std::move(file)),
        marks_(marks) {}

  /// SQLite doesn't say which process has locked its file.
  reply blocker(connection&, const request&, connection_identity&) noexcept override { return {.result = outcome::no}; }
  bool caller_may_wait(fault& why) const noexcept override;

  sql::client_library library() const noexcept override { return sql::client_library::sqlite; }
  outcome shares(const sql::application_connection& with, fault& why) const override;
  outcome glance(const sql::application_connection& with) const noexcept override;
  std::string why_elsewhere(const sql::application_connection& with) const override;
  sql::transaction_state transaction_on(const sql::application_connection& with) const noexcept override;
  outcome describe(const sql::application_connection& with, row_table& table, fault& why) const override;
  sql::application_address address() const override;
  fault fault_of(int native, std::string_view sqlstate, std::string_view text) const override;
  bool may_be_done(const fault& why) const noexcept override;
  /// Rows need no locks besides the file's, so such a transaction must be BEGIN IMMEDIATE.
  std::string lock_and_skip(const row_table& /*table*/) const override { return {}; }
  sql::done_statements mark_as_done(std::string_view key, std::optional<microseconds> valid,
                                    std::string_view by) const override {
    return marks_.for_transaction(key, valid, by, and_here());
  }

 private:
  std::vector<sql::named_value> verifier() const override;
  const char* release_min_hold() const override;

  const std::shared_ptr<lease_file> file_;
  const sqlite_marks& marks_;
};

/// Operators' queries and the clean-up of the lock tables.
class sqlite_admin final : public sql::lease_admin {
 public:
  sqlite_admin(lease_file& file, sleeping_waiters& waiters, const sql::application_database& application,
               sqlite_marks& marks, sql::shared_keys& shared)
      : lease_admin(file.names, file.row_sql, shared, file.sql.statement(statement_id::latest).sql),
        file_(file),
        waiters_(waiters),
        application_(application),
        marks_(marks) {}

  reply waiters(connection& connection, std::string_view key, std::size_t limit,
                waiter_overview& found) noexcept override;
  reply examine(connection& connection, std::vector<store_finding>& found) noexcept override;
  /// Sets the processes of those sessions. A missing session keeps its text.
  reply name_sessions(connection& connection, std::map<id128, std::string>& sessions) noexcept;

 private:
  bool may_wait(fault& why) const noexcept override { return application_.caller_may_wait(why); }
  reply count_waiters(sql::sql_connection& on, std::vector<holder_info>& of) override;
  table_question tables_with_locks(std::string_view name) const override;
  reply describe(sql::sql_connection& on, row_table& table) const override;
  reply clean_marks(sql::sql_connection& on, std::size_t limit) override { return marks_.clean(on, limit); }

  lease_file& file_;
  sleeping_waiters& waiters_;
  const sql::application_database& application_;
  sqlite_marks& marks_;
};

/// Locks in an SQLite file; see dlock/stores/sqlite.hpp.
class sqlite_store final : public store {
 public:
  explicit sqlite_store(const lease_settings& settings, std::shared_ptr<const sqlite_host> host = sqlite_host::here());

  const std::string& name() const noexcept override { return file_->settings.name; }
  /// Readers never wait; writers wait for any transaction that writes to the file.
  capabilities caps() const noexcept override {
    return {.rows = true,
            .waits = file_->wakes ? waiting::woken : waiting::polls,
            .passes_on = true,
            .lingers = file_->wakes,
            .keeps_order = file_->wakes,
            .shares = true,
            .marks = true};
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
  reply waited_for(connection& on, std::span<const request> keys, std::span<reply> replies) noexcept override;
  void waiters_changed(std::string_view key) noexcept override { waiters_.changed(key); }
  void listen(store_listener& listener) noexcept override { listeners_.add(listener); }
  void unlisten(store_listener& listener) noexcept override { listeners_.remove(listener); }
  /// A statement runs within the call that sent it, so nothing of it is left when a connection is lost.
  bool terminate(connection&, const connection_identity&) noexcept override { return true; }
  store_admin* admin() noexcept override { return &admin_; }
  transactional_store* transactions() noexcept override { return &application_; }
  mark_store* marks() noexcept override { return &marks_; }

 private:
  /// Sets who holds the keys, and the processes of the sessions. Returns false if that can't be read at present.
  bool poll_keys(std::map<std::string, seen>& keys, std::map<id128, std::string>& sessions) noexcept;
  /// Wakes the waiters for released keys. `late`: the releases were held up.
  void note_done(std::span<const request> requests, std::span<reply> replies, bool late) noexcept;
  reply execute_shared(lease_connection& link, const request& asked);
  /// Wakes the waiters that may get the key after a change of its members.
  void note_shared(lease_connection& link, const request& asked, reply& answer);
  void execute_all(lease_connection& link, std::span<const request> requests, std::span<reply> replies);
  /// take, take_over and poll with request::in_order.
  reply in_order(lease_connection& link, const request& asked);

  std::shared_ptr<lease_file> file_;
  store_listeners listeners_{};
  sqlite_marks marks_{file_};
  sql::shared_keys shared_;
  sqlite_application_database application_{file_, marks_, shared_};
  sqlite_admin admin_{*file_, waiters_, application_, marks_, shared_};
  sleeping_waiters waiters_;  // the last member, because its thread uses the others until it has ended
};

}  // namespace dlock::stores::sqlite::lease_table
