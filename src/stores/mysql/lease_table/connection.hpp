// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "stores/mysql/client/connection.hpp"
#include "stores/mysql/client/reply_or_in_doubt.hpp"
#include "stores/mysql/client/statement.hpp"
#include "stores/mysql/lease_table/sql.hpp"

namespace dlock::stores::mysql::lease_table {

/// Room for all parameters of the prepared statements, one for each connection: they are bound once, to these places.
struct lease_values {
  mysql_bytes<255> key{};
  mysql_bytes<16> session{};
  mysql_bytes<16> holder{};
  std::uint64_t nonce = 0;
  std::uint64_t fence = 0;
  std::uint64_t seen_fence = 0;
  std::int64_t own_ttl = 0;
  mysql_bool no_own_ttl = 0;  ///< binds NULL instead: kept by the session
  std::int64_t min_hold = 0;
  std::int64_t ttl = 0;
  std::int64_t pid = 0;
  mysql_bytes<1020> host{};  // characters of utf8mb4 have up to four bytes
  mysql_bytes<256> label{};
};

/// The row that poll reads.
struct mysql_poll_row {
  mysql_bytes<16> holder{};
  std::uint64_t fence = 0;
  std::int64_t kept = 0;
  std::int64_t gone = 0;
  std::int64_t remaining_us = 0;
  mysql_bytes<1020> host{};
  std::int64_t pid = 0;
  mysql_bytes<256> label{};
  std::uint64_t nonce = 0;

  /// Where its columns go, in their order.
  std::array<mysql_field, 9> fields() noexcept {
    return {mysql_field::bytes(holder), mysql_field::number(fence),        mysql_field::number(kept),
            mysql_field::number(gone),  mysql_field::number(remaining_us), mysql_field::text(host),
            mysql_field::number(pid),   mysql_field::text(label),          mysql_field::number(nonce)};
  }
  /// The holder that they show.
  seen shown() const;
};

/// A statement whose parameters are those values. Both must outlive it.
mysql_statement make_statement(const sql::statement_text& text, lease_values& values);

/// A connection with the prepared statements of the lock tables and room for their parameters.
class lease_connection final : public mysql_connection {
 public:
  /// `sql` and `hosts` must outlive it. Throws as mysql_connection does.
  lease_connection(mysql_opened from, const lease_sql& sql, mysql_hosts& hosts);

  void explain(fault& why) const override;

  /// Where the parameters of the next run() go.
  lease_values& values() noexcept { return values_; }

  using mysql_connection::change;
  reply change(statement_id which, bool ours, row_wait if_locked = row_wait::avoid) {
    return change(statement(which), ours, if_locked);
  }
  /// With what is in values().
  std::string written_out(statement_id which) { return statement(which).written_out(); }
  /// Who holds the key in values().
  reply poll();
  /// Whether the server takes a text of that size (max_allowed_packet). A text that is larger would cost the
  /// connection. Large texts cost one statement the first time.
  bool fits(const std::string& text);
  /// Prepares all statements: what the server won't have shows now. False, and the reason.
  bool prepare_all(fault& why);

 private:
  mysql_statement& statement(statement_id which) noexcept { return statements_[static_cast<std::size_t>(which)]; }

  const std::string prefix_;  // of the names of the tables
  lease_values values_{};
  std::size_t largest_text_ = 0;  // 0: not asked yet
  std::vector<mysql_statement> statements_{};
};

}  // namespace dlock::stores::mysql::lease_table
