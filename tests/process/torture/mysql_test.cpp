// SPDX-License-Identifier: BSL-1.0
// Every scheme on a MariaDB server of its own, which is killed and restarted.

#include <catch2/generators/catch_generators_range.hpp>

#include "contract/backends/mysql/schemes.hpp"
#include "dlock/stores/mysql.hpp"
#include "process/torture/driver.hpp"
#include "support/own_server.hpp"
#include "support/table_schemes.hpp"
#include "support/test.hpp"

namespace dlock::test {

namespace {

class mysql_torture final : public tortured_fixture {
 public:
  /// `columns` of the table `locks`, where the scheme has one.
  explicit mysql_torture(std::string parameters, const char* columns = nullptr) : parameters_(std::move(parameters)) {
    if (columns != nullptr) raw_mysql(server_.url()).run(std::string("CREATE TABLE locks ") + columns);
  }
  std::string url() const override { return server_.url() + parameters_; }
  /// Of all, or of each by chance.
  void cut(dice& random) override {
    raw_mysql root(server_.root_url());
    const bool all = random() % 2 == 0;
    for (const auto& row : root.rows("SELECT id FROM information_schema.processlist WHERE user='dlock_owner'")) {
      if (!all && random() % 2 == 0) continue;
      try {
        root.run("KILL " + row.at(0).value());
      } catch (const std::runtime_error&) {
        // It has gone by itself.
      }
    }
  }
  void restart(dice&, bool orderly) override { server_.restart(orderly); }
  std::vector<std::string> members() override {
    std::vector<std::string> found;
    raw_mysql root(server_.root_url());
    for (const auto& row : root.rows(
             "SELECT CONCAT('member of ', lock_key) FROM dlock_member UNION ALL SELECT CONCAT('closed: ', lock_key) "
             "FROM dlock_lock WHERE session_id = 'dlock:closed:now'")) {
      found.push_back(row.at(0).value_or(""));
    }
    return found;
  }

 private:
  own_server server_{"server", "--skip-networking"};
  const std::string parameters_;
};

/// Their holders learn at their next renewal that their connection has been ended, and a machine may be busy. The ttl
/// is long, so that a key that is free at once is told from one that is free because its holder's connection was
/// silent.
torture_terms of_bound_locks() {
  constexpr auto ttl = 5s;
  constexpr auto until_noticed = std::chrono::milliseconds{ttl} / 3 + 3s;
  return {.ttl = ttl,
          .fenced = false,
          .ends_with_connection = true,
          .doubt_after_cut = until_noticed,
          .doubt_after_restart = until_noticed};
}

}  // namespace

TEST_CASE("torture lease_table: killed, stopped, cut off and restarted, never two, and each fence is counted") {
  static_cast<void>(mysql_setting("DLOCK_TEST_MYSQL_URL"));  // skips the test where there is no MariaDB
  mysql_torture fixture("");
  check_torture(fixture, {.counts = true});
}

TEST_CASE("torture readers and permits: killed, stopped, cut off and restarted, never beside an exclusive holder") {
  static_cast<void>(mysql_setting("DLOCK_TEST_MYSQL_URL"));
  mysql_torture fixture("");
  check_torture(fixture, {.shares = true, .length = 12s});
}

TEST_CASE("torture keys that linger: killed, stopped, cut off and restarted, never two, and others get them in time") {
  static_cast<void>(mysql_setting("DLOCK_TEST_MYSQL_URL"));
  mysql_torture fixture("");
  check_torture(fixture, {.lingers = true});
}

TEST_CASE("torture on a table of other programs: killed, stopped, cut off and restarted, never two, and fences grow") {
  static_cast<void>(mysql_setting("DLOCK_TEST_MYSQL_URL"));
  const auto scheme = GENERATE(from_range(table_schemes()));
  CAPTURE(scheme);
  // t_lock's leases end by the clocks of the processes, which are those of one machine.
  mysql_torture fixture("&scheme=" + scheme + "&table=locks" + (scheme == "t_lock" ? "&skew=100" : ""),
                        team_columns(scheme));
  check_torture(fixture, {.fenced = open_store(fixture.url())->caps().fence});
}

TEST_CASE("torture for_update: a dead holder's key is free at once, and two only for a renewal after a cut") {
  static_cast<void>(mysql_setting("DLOCK_TEST_MYSQL_URL"));
  mysql_torture fixture("&scheme=for_update&table=locks&make_rows=1", for_update_fixture::columns);
  check_torture(fixture, of_bound_locks());
}

TEST_CASE("torture named_lock: a dead holder's key is free at once, and two only for a renewal after a cut") {
  static_cast<void>(mysql_setting("DLOCK_TEST_MYSQL_URL"));
  mysql_torture fixture("&scheme=named_lock");
  check_torture(fixture, of_bound_locks());
}

}  // namespace dlock::test
