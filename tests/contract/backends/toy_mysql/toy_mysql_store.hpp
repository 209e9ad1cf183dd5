// SPDX-License-Identifier: BSL-1.0
#pragma once

/// A scheme of its own on MySQL, as small as one can be: one table, and leases that end by their expiry alone. It shows
/// what is left to write of a store over stores/mysql/client.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <vector>

#include "dlock/store_interface/store_admin.hpp"
#include "stores/mysql/client/check.hpp"
#include "stores/mysql/client/client.hpp"
#include "stores/mysql/client/reply_or_in_doubt.hpp"
#include "stores/mysql/client/text.hpp"

namespace dlock::test {

using namespace stores::mysql;

struct toy_sql {
  explicit toy_sql(const std::string& table) {
    const auto sql = [&](const char* text) {
      return fmt::format(fmt::runtime(text), fmt::arg("t", table), fmt::arg("now", server_clock));
    };
    // [statements]
    const auto take =
        sql("UPDATE {t} SET owner=?, nonce=?, fence=LAST_INSERT_ID(fence+1), taken={now}, expiry=?+{now} WHERE id=? ");
    texts = {
        take + sql("AND (owner IS NULL OR expiry<={now})"),
        sql("INSERT INTO {t} SET owner=?, nonce=?, fence=LAST_INSERT_ID(1), taken={now}, expiry=?+{now}, id=?"),
        sql("SELECT owner, fence, expiry-{now} FROM {t} WHERE id=?"),
        take + sql("AND owner=? AND fence=? AND expiry<={now}"),
        sql("UPDATE {t} SET expiry=GREATEST(expiry, ?+{now}) WHERE id=? AND owner=? AND fence=? AND expiry>{now}"),
        sql("UPDATE {t} SET owner=IF(taken+?>{now}, owner, NULL), expiry=taken+? WHERE id=? AND owner=? AND fence=?"),
        sql("UPDATE {t} SET owner=NULL WHERE id=? AND owner=? AND nonce=?")};
    // [/statements]
    held = sql("SELECT id, owner, fence, expiry-{now} FROM {t} WHERE owner IS NOT NULL AND expiry>{now} AND ");
    create =
        sql("CREATE TABLE IF NOT EXISTS {t} (id VARBINARY(255) PRIMARY KEY, owner BINARY(16), nonce BIGINT UNSIGNED, "
            "fence BIGINT UNSIGNED NOT NULL, taken BIGINT NOT NULL, expiry BIGINT NOT NULL)");
  }

  std::array<std::string, 7> texts{};  ///< in the order of `verb`
  std::string held{}, create{};
};

/// A connection with these statements prepared, and room for their parameters.
class toy_connection final : public mysql_connection {
 public:
  toy_connection(mysql_opened from, const toy_sql& sql, mysql_hosts& hosts) : mysql_connection(std::move(from), hosts) {
    const auto k = mysql_field::bytes(key), o = mysql_field::bytes(owner), seen = mysql_field::bytes(seen_owner);
    const auto n = mysql_field::number(nonce), f = mysql_field::number(fence), sf = mysql_field::number(seen_fence);
    const auto t = mysql_field::number(ttl), hold = mysql_field::number(min_hold);
    const std::vector<std::vector<mysql_field>> fields{
        {o, n, t, k}, {o, n, t, k}, {k}, {o, n, t, k, seen, sf}, {t, k, o, f}, {hold, hold, k, o, f}, {k, o, n}};
    for (std::size_t i = 0; i != fields.size(); ++i) statements.emplace_back(sql.texts[i], "toy", fields[i]);
  }

  mysql_bytes<255> key{};
  mysql_bytes<16> owner{}, seen_owner{};
  std::uint64_t nonce = 0, fence = 0, seen_fence = 0;
  std::int64_t ttl = 0, min_hold = 0;
  std::vector<mysql_statement> statements{};
};

class toy_mysql_store final : public store, private store_admin {
 public:
  toy_mysql_store(store_url url, const std::string& table) : client_(mysql_settings::take(url)), sql_(table) {}
  const std::string& name() const noexcept override { return client_.settings().name; }
  capabilities caps() const noexcept override {
    return {.session_leases = false, .batch = false, .renewed_leases = true};
  }
  bool takes_wait() const noexcept override { return true; }
  void prepare() override {
    fault why;
    const auto connection = client_.open<toy_connection>(client_.settings().connect_timeout, {}, why, sql_);
    if (!connection) fail(name(), why);
    check_server(*connection, name());
    if (connection->query(sql_.create, "make the table", nullptr, nullptr, why) != outcome::yes) fail(name(), why);
  }
  std::unique_ptr<connection> connect(microseconds limit, fault& why) noexcept override {
    return client_.open<toy_connection>(limit, {}, why, sql_);
  }
  // [execute]
  void execute(connection& connection, std::span<const request> requests, std::span<reply> replies) noexcept override {
    auto& with = static_cast<toy_connection&>(connection);
    std::transform(requests.begin(), requests.end(), replies.begin(), [&](const request& each) {
      return reply_or_in_doubt(with, "lock",
                               [&] { return each.action == verb::poll ? poll(with, each) : change(with, each); });
    });
  }
  bool terminate(connection& connection, const connection_identity& lost) noexcept override {
    return end_lost_connection(static_cast<toy_connection&>(connection), lost);
  }
  /// No lease is kept by a session here, so none has a row.
  reply session(connection&, session_verb, const session_record&) noexcept override { return {.result = outcome::yes}; }
  store_admin* admin() noexcept override { return this; }
  // [/execute]

 private:
  reply inspect(connection& connection, const request& key, std::vector<holder_info>& found) noexcept override {
    return holders(connection, "id=" + mysql_literal(key.resource), found);
  }
  reply list(connection& connection, std::string_view after, std::size_t limit,
             std::vector<holder_info>& found) noexcept override {
    return holders(connection, fmt::format("id>{} ORDER BY id LIMIT {}", mysql_literal(after), limit), found);
  }
  reply revoke(connection&, const request&) noexcept override { return {.result = outcome::no}; }
  reply cleanup(connection&, microseconds, std::size_t) noexcept override { return {.result = outcome::yes}; }
  static reply change(toy_connection& connection, const request& request) {
    connection.key.assign(request.resource);
    connection.owner.assign(bytes_of(request.session));
    const seen expected = request.expected != nullptr ? *request.expected : seen{};
    connection.seen_owner.assign(bytes_of(expected.holder));
    std::tie(connection.nonce, connection.fence, connection.seen_fence) =
        std::tie(request.nonce, request.fence, expected.fence);
    std::tie(connection.ttl, connection.min_hold) = std::pair(request.ttl.count(), request.min_hold.count());
    reply answer;
    mysql_done done;
    answer.result =
        connection.run(connection.statements.at(static_cast<std::size_t>(request.action)), done, answer.why);
    if (answer.why.native == static_cast<int>(mysql_duplicate_key)) return {.result = outcome::no};
    if (answer.result == outcome::yes && done.rows == 0) answer.result = outcome::no;
    answer.fence = done.insert_id;
    return answer;
  }
  static reply poll(toy_connection& connection, const request& request) {
    connection.key.assign(request.resource);
    reply answer;
    mysql_bytes<16> owner;
    std::int64_t left = 0;
    const std::array row{mysql_field::bytes(owner), mysql_field::number(answer.holder.fence),
                         mysql_field::number(left)};
    answer.result =
        connection.fetch(connection.statements.at(static_cast<std::size_t>(request.action)), row, answer.why);
    answer.holder.holder = id_of(owner.view());
    answer.holder.expired = left <= 0;
    answer.holder.remaining = microseconds{std::max<std::int64_t>(0, left)};
    return answer;
  }
  reply holders(connection& connection, const std::string& which, std::vector<holder_info>& out) noexcept {
    auto& with = static_cast<toy_connection&>(connection);
    return reply_or_in_doubt(with, "list", [&] {
      reply answer;
      mysql_rows rows;
      answer.result = with.query(sql_.held + which, "list", &rows, nullptr, answer.why);
      for (const auto& row : rows) {
        out.push_back({.key = *row[0], .session = id_of(*row[1]), .fence = std::stoull(*row[2])});
        out.back().remaining = microseconds{std::stoll(*row[3])};
      }
      return answer;
    });
  }

  mysql_client client_;
  const toy_sql sql_;
};

}  // namespace dlock::test
