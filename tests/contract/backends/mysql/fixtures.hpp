// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "contract/backends/mysql/stopped_clock.hpp"
#include "contract/row/row_contract.hpp"
#include "contract/store_fixture.hpp"
#include "support/mysql_fixture.hpp"

namespace dlock::test {

/// How many locks threads hold that wait for others, as the waiter table has it.
inline std::size_t held_by_waiters_of(const mysql_fixture& tables) {
  return std::stoul(raw_mysql::root().one(
      "SELECT COALESCE(SUM(LENGTH(held) - LENGTH(REPLACE(held, ' ', ''))), 0) FROM " + tables.table("waiter")));
}

/// Tables of their own on the server that the environment names.
class mysql_store_fixture final : public url_fixture {
 public:
  /// `with`: parameters of the URL, e.g. "&wake=off".
  explicit mysql_store_fixture(std::string with = {}) : more(std::move(with)) {}
  std::string url() const override { return tables.url(more); }
  std::shared_ptr<store> open() override { return clock.given_to(url_fixture::open()); }
  void stop_clock() override { clock.stop(); }
  void pass(microseconds time) override { clock.pass(time); }
  bool may_be_contended() const override { return true; }  // rows are waited for, but not for long
  std::size_t held_by_waiters() override { return held_by_waiters_of(tables); }

  mysql_fixture tables{};
  server_clock clock{};
  std::string more;  ///< parameters of the stores to come
};

/// The server's number of an actor's connection.
inline std::uint64_t connection_id(const actor& actor) { return actor.connection->identity().id; }

/// As a statement writes it.
inline std::string hex(const id128& id) { return "X'" + id.hex() + "'"; }

/// An application whose sessions live eight hours ahead of the server's.
class mysql_application final : public application {
 public:
  explicit mysql_application(const std::string& url, const std::string& time_zone = "+08:00");
  std::uint64_t run(const std::string& sql) override;
  std::optional<std::string> one(const std::string& sql) override;
  std::vector<std::string> all(const std::string& sql) override;
  void begin() override { run("BEGIN"); }

  raw_mysql raw;
};

/// Locks in the database of DLOCK_TEST_MYSQL_OWNER_URL, the application's tables in that of DLOCK_TEST_MYSQL_APP_URL.
class mysql_row_fixture final : public row_fixture {
 public:
  ~mysql_row_fixture() override;
  std::shared_ptr<store> open() override { return clock.given_to(locks.open(more)); }
  void stop_clock() override { clock.stop(); }
  void pass(microseconds time) override { clock.pass(time); }
  std::string url() const override { return locks.url(more); }
  std::shared_ptr<const row_table> make_table(const row_shape& shape) override;
  std::unique_ptr<application> connect() override;
  std::string literal(const std::string& text) const override;
  std::string plain_take(const row_table& table, const std::string& condition, const std::string& owner,
                         int seconds) const override;
  std::string plain_expiry(int seconds) const override;
  std::string expiry(microseconds from_now) const override;
  bool locks_rows() const override { return true; }
  std::size_t held_by_waiters() override { return held_by_waiters_of(locks); }
  std::string tables_id() const override;
  std::shared_ptr<store> open_other_tables() override { return other_locks_.emplace().open(more); }

  mysql_fixture locks{};
  server_clock clock{};
  std::string more{};  ///< parameters of the stores to come

 private:
  std::optional<mysql_fixture> other_locks_{};
  std::vector<std::string> tables_{};
};

}  // namespace dlock::test
