// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <chrono>
#include <span>
#include <string>
#include <string_view>

#include "dlock/store_interface/store.hpp"
#include "stores/mysql/client/native.hpp"
#include "stores/mysql/client/server.hpp"
#include "stores/mysql/client/statement.hpp"
#include "stores/sql/sql_connection.hpp"

namespace dlock::stores::mysql {

/// A connection to a server that takes locks, and what is known of it.
struct mysql_opened {
  mysql_handle link{};  ///< null: none
  mysql_server server{};
  std::string where{};         ///< for messages
  std::size_t host = 0;        ///< of mysql_hosts
  std::uint64_t refusals = 0;  ///< of that host, when it was made
};

/// A connection to a server that takes locks. It knows no table: a scheme derives from it, or uses it, with statements
/// of its own.
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

  /// The connection that has this number at the same server, where this one has just read it.
  connection_identity neighbour(std::uint64_t number) const;
  /// Whether a proxy is in between that has connection numbers of its own: then kill() sends nothing.
  bool behind_proxy() const noexcept { return behind_proxy_; }

  MYSQL* handle() noexcept { return native_.get(); }
  /// What a statement begins with that is not to wait for a locked row; empty where the server has nothing for it.
  std::string_view quick_prefix() const noexcept { return quick_ ? mysql::quick_prefix : std::string_view(); }
  /// Likewise, of a statement that is to do about a locked row what the request says.
  std::string_view prefix_for(const request& asked) const noexcept {
    return asked.if_locked == row_wait::accept ? std::string_view() : quick_prefix();
  }
  /// Whether a read that locks the row and does not wait for it (SELECT ... FOR UPDATE NOWAIT) goes before the change,
  /// which can't be told not to wait. A row that was polled, or is taken over, may be locked by a transaction that a
  /// dead holder has left open. An extension has little time.
  bool asks_first(const request& asked) const noexcept {
    if (quick_ || asked.if_locked == row_wait::accept) return false;
    if (asked.action == verb::poll || asked.action == verb::insert) return false;
    return asked.if_locked == row_wait::never || asked.polled || asked.action == verb::take_over ||
           asked.action == verb::extend;
  }

  /// What a statement begins with that must see all that other nodes of a Galera cluster have committed: a node applies
  /// that a little later, and until then its "no row" proves nothing. Empty where there are no other nodes.
  std::string_view sync_prefix() const noexcept { return cluster_ ? mysql::sync_prefix : std::string_view(); }
  /// A statement with or without quick_prefix(), which begins so.
  std::string synced(std::string text) const;

  /// Executes a statement of this connection, which is prepared at its first use. A deadlock, or a row that changed
  /// meanwhile, is tried again. yes: `done` says what it did. Else failed or unknown.
  outcome run(mysql_statement& statement, mysql_done& done, fault& why);
  /// Likewise one that changes rows: no if it changed none, otherwise the value of LAST_INSERT_ID as the fence. `ours`:
  /// of what is ours a "no" must be the truth, so it is asked again where sync_prefix() says so. A node that has not
  /// seen our grant yet would report a loss that never was, or leave a key held. With row_wait::accept it waits for a
  /// locked row, although it was prepared with quick_prefix().
  reply change(mysql_statement& statement, bool ours, row_wait if_locked = row_wait::avoid);
  /// Likewise a SELECT: yes, and its first row in the columns' places, or absent.
  outcome fetch(mysql_statement& statement, std::span<const mysql_field> columns, fault& why);
  /// Likewise a statement whose text holds all its values. `rows` and `affected` may be null.
  outcome query(const std::string& sql, const char* doing, mysql_rows* rows, std::uint64_t* affected, fault& why);
  /// The same of a text that reads: yes, or how it failed.
  reply read(const std::string& sql, const char* doing, mysql_rows* rows = nullptr);
  /// The same of a text that changes rows: no if it changed none, otherwise the value of LAST_INSERT_ID as the fence.
  reply change(const std::string& sql, const char* doing);
  /// Prepares a statement, so that what the server won't have shows now. False, and the reason. True also where it
  /// prepares no more statements: the text is sent then.
  bool prepare(mysql_statement& statement, fault& why);

  /// Takes note of an error: some end the connection. Adds which server it was.
  void note_error(fault& why) noexcept;
  sql::row_locks locks() const noexcept override {
    return quick_ ? sql::row_locks::refused : sql::row_locks::waited_for;
  }
  reply read(const sql::sql_text& statement, sql::sql_values values, sql::sql_rows& rows) override;
  reply change(const sql::sql_text& statement, sql::sql_values values) override;
  reply transact(sql::body_ref changes) override { return changes(); }
  reply attempt(const char* doing, sql::body_ref verb) noexcept override;

  /// Adds to an error what it means for the tables of a scheme.
  virtual void explain(fault& /*why*/) const {}

 private:
  using columns = const std::span<const mysql_field>*;  // null: the statement shows no row
  struct tries {
    unsigned count = 0;
    unsigned without_table = 0;
    std::chrono::steady_clock::time_point first{};
  };

  /// Does what `send` does, again and again where retry() says so. `table_was_there`: a table that is not
  /// there now may come back.
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
  const std::uint64_t refusals_;  // of that host, when this connection was made
  const bool quick_;
  const bool cluster_;
  const bool encrypted_;
  const bool behind_proxy_;
  const std::string where_;
  connection_identity identity_;
  // A descriptor of our own for the same socket: the client library closes its one without telling, and the
  // number may then be that of another client.
  int socket_;
  std::atomic<bool> broken_{false};
  bool checked_ = false;          // alive() has just seen that its server is there
  bool table_was_there_ = false;  // a prepared statement has worked
  unsigned as_text_ = 0;          // so many more are not tried to be prepared
};

enum class kill_result : std::uint8_t {
  done,
  gone,          ///< it has ended, or its server was started anew since
  refused,       ///< it is another user's
  out_of_reach,  ///< another server, or it is not certain which one; nothing was sent
  not_certain,   ///< no answer, or no memory
};
enum class kill_what : std::uint8_t { query, connection };

/// Rule 6, and the only place that sends a KILL: at the server where the connection with that number is, or not at all.
kill_result kill(mysql_connection& by, const connection_identity& of, kill_what what) noexcept;

/// Ends what a lost connection still does at its server, and sees it gone. True only if that is certain. What
/// store::terminate() asks.
bool end_lost_connection(mysql_connection& by, const connection_identity& lost) noexcept;

}  // namespace dlock::stores::mysql
