// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dlock/store_interface/store.hpp"
#include "stores/mysql/client/native.hpp"
#include "stores/mysql/client/server.hpp"
#include "stores/mysql/client/statement.hpp"
#include "stores/sql/sql_connection.hpp"

namespace dlock::stores::mysql {

/// A value in a text, for any character set.
std::string literal_of(const sql::sql_value& value);

/// A new connection to a server that accepts locks, and the known facts about it.
struct mysql_opened {
  mysql_handle link{};  ///< null if there is none
  mysql_server server{};
  std::string where{};         ///< for messages
  std::size_t host = 0;        ///< its index in mysql_hosts
  std::uint64_t refusals = 0;  ///< mysql_hosts::refusals() of that host when the connection was made
};

/// A connection to a server that accepts locks. It knows no tables: a scheme derives from it, or uses it with
/// statements of its own.
class mysql_connection : public sql::sql_connection {
 public:
  /// `hosts` must outlive it. Throws std::system_error if there is no file descriptor left.
  mysql_connection(mysql_opened from, mysql_hosts& hosts);
  ~mysql_connection() override;
  mysql_connection(const mysql_connection&) = delete;
  mysql_connection& operator=(const mysql_connection&) = delete;

  void interrupt() noexcept override;
  bool usable() const noexcept override { return !broken_.load(std::memory_order_acquire); }
  bool alive() noexcept override;
  const connection_identity& identity() const noexcept override { return identity_; }

  /// The identity of the connection with this number, which this one has just read, at the same server.
  connection_identity neighbour(std::uint64_t number) const;
  /// Whether a proxy with its own connection numbers is in between. Then kill() sends nothing.
  bool behind_proxy() const noexcept { return behind_proxy_; }

  MYSQL* handle() noexcept { return native_.get(); }
  /// The prefix of a statement that must not wait for a locked row; empty if the server has none.
  std::string_view quick_prefix() const noexcept { return quick_ ? mysql::quick_prefix : std::string_view(); }
  /// Whether a locking read that does not wait (SELECT ... FOR UPDATE NOWAIT) precedes the change, which itself would
  /// always wait. A row that was polled, or is taken over, may be locked by a transaction that a dead holder has left
  /// open. An extension has little time.
  bool asks_first(const request& asked) const noexcept {
    if (quick_ || asked.if_locked == row_wait::accept) return false;
    if (asked.action == verb::poll || asked.action == verb::insert) return false;
    return asked.if_locked == row_wait::never || asked.polled || asked.action == verb::take_over ||
           asked.action == verb::extend;
  }

  /// The prefix of a statement that must see all that other nodes of a Galera cluster have committed. A node applies
  /// that a little later, and until then its "no row" proves nothing. Empty if there are no other nodes.
  std::string_view sync_prefix() const noexcept { return cluster_ ? mysql::sync_prefix : std::string_view(); }
  /// Adds sync_prefix() to a statement with or without quick_prefix().
  std::string synced(std::string text) const;

  /// Executes a statement of this connection, which is prepared at its first use. Repeats it after a deadlock, or if a
  /// row changed meanwhile. Returns yes, with the result in `done`, failed or unknown.
  outcome run(mysql_statement& statement, mysql_done& done, fault& why);
  /// Executes a statement that changes rows. Returns no if it changed none, otherwise yes with LAST_INSERT_ID as the
  /// fence. `ours`: the statement is about our own grant, so a "no" must be true, and is asked again where
  /// sync_prefix() applies: a node that has not seen our grant yet would report a loss that never happened, or leave a
  /// key held. With row_wait::accept it waits for a locked row even if it was prepared with quick_prefix().
  reply change(mysql_statement& statement, bool ours, row_wait if_locked = row_wait::avoid);
  /// Executes a SELECT. Returns yes, with its first row in `columns`, or absent.
  outcome fetch(mysql_statement& statement, std::span<const mysql_field> columns, fault& why);
  /// Executes a text that contains all its values. `rows` and `affected` may be null.
  outcome query(const std::string& sql, const char* doing, mysql_rows* rows, std::uint64_t* affected, fault& why);
  /// Executes a text that reads. Returns yes, or how it failed.
  reply read(const std::string& sql, const char* doing, mysql_rows* rows = nullptr);
  /// Executes a text that changes rows. Returns no if it changed none, otherwise yes with LAST_INSERT_ID as the fence.
  reply change(const std::string& sql, const char* doing);
  /// Prepares a statement, to see now whether the server rejects it. Returns false and sets `why` if so. Returns true
  /// if the server prepares no more statements, because the text is sent then.
  bool prepare(mysql_statement& statement, fault& why);

  /// Notes an error, some of which end the connection. Adds the server's name to it.
  void note_error(fault& why) noexcept;
  sql::row_locks locks() const noexcept override {
    return quick_ ? sql::row_locks::refused : sql::row_locks::waited_for;
  }
  reply read(const sql::sql_text& statement, sql::sql_values values, sql::sql_rows& rows) override;
  reply change(const sql::sql_text& statement, sql::sql_values values) override;
  reply transact(sql::body_ref changes) override { return changes(); }
  reply attempt(const char* doing, sql::body_ref verb) noexcept override;

  /// Adds to an error's text what it means for the tables of a scheme. It may send a statement.
  virtual void explain(fault& /*why*/) {}

 private:
  struct kept_statement;
  kept_statement& kept(const sql::sql_text& statement, sql::sql_values values);
  reply read_kept(const sql::sql_text& statement, sql::sql_values values, sql::sql_rows& rows);

  using columns = const std::span<const mysql_field>*;  // null if the statement returns no rows
  struct tries {
    unsigned count = 0;
    unsigned without_table = 0;
    std::chrono::steady_clock::time_point first{};
  };

  /// Calls `send`, and repeats it as long as retry() says so. `table_was_there`: a missing table may come back.
  template <class Send>
  outcome repeat(fault& why, Send send, bool table_was_there = false);
  outcome execute(mysql_statement& statement, mysql_done& done, columns row, fault& why);
  outcome execute_as_text(const mysql_statement& statement, mysql_done& done, columns row, fault& why);
  bool ready(mysql_statement& statement, fault& why);
  bool may_run(fault& why);
  bool retry(const fault& why, tries& so_far) const;

  mysql_handle native_;
  mysql_hosts& hosts_;
  const std::size_t host_;
  const std::uint64_t refusals_;  // mysql_hosts::refusals() of the host when this connection was made
  const bool quick_;
  const bool cluster_;
  const bool encrypted_;
  const bool behind_proxy_;
  const std::string where_;
  connection_identity identity_;
  // A duplicate of the socket's descriptor: the client library closes its own one unnoticed, and its number may then be
  // that of another client.
  int socket_;
  std::atomic<bool> broken_{false};
  bool checked_ = false;          // alive() has just checked the server
  bool table_was_there_ = false;  // a prepared statement has worked
  unsigned as_text_ = 0;          // the number of further statements not to prepare
  std::vector<std::unique_ptr<kept_statement>> kept_{};
};

enum class kill_result : std::uint8_t {
  done,
  gone,          ///< it has ended, or its server was restarted
  refused,       ///< it belongs to another user
  out_of_reach,  ///< another server, or perhaps another one; nothing was sent
  not_certain,   ///< no reply, or memory ran out
};
enum class kill_what : std::uint8_t { query, connection };

/// Rule 6. This is the only place that sends a KILL. It sends it to the server that has the connection with that
/// number, or not at all.
kill_result kill(mysql_connection& by, const connection_identity& of, kill_what what) noexcept;
/// The same for the query of the connection whose number the last statement of `by` has left in LAST_INSERT_ID(), or 0.
/// A DELETE does not return that number.
kill_result kill_last_insert_id(mysql_connection& by) noexcept;

/// Ends what a lost connection still executes at its server, and checks that it is gone. Returns true only if that is
/// certain. Implements store::terminate().
bool end_lost_connection(mysql_connection& by, const connection_identity& lost) noexcept;

}  // namespace dlock::stores::mysql
