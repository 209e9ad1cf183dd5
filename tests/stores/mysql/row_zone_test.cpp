// SPDX-License-Identifier: BSL-1.0

/// Statements about shared expiry columns that run in sessions of the application's, whose time zone has an hour in
/// which each local time comes twice.

#include <dlock/detail/odb_compat.hpp>
//
#include <fmt/format.h>

#include <catch2/generators/catch_generators.hpp>

#include "contract/backends/mysql/fixtures.hpp"
#include "stores/mysql/dst_zone.hpp"
#include "stores/sql/application_database.hpp"

namespace dlock::test {

namespace {

constexpr row_shape shared{.renewal = row_renewal::column, .owner_not_null = true, .fence_is_version = true};

/// The application's session, at any time that a test chooses.
struct zone_scene : row_scene {
  zone_scene() : row_scene(shared) {}

  void at(const std::string& of_zone, std::int64_t second) {
    app->run("SET time_zone='" + of_zone + "'");
    app->run("SET timestamp=" + std::to_string(second));
  }
  /// When the row's lock ends, in seconds from the session's present.
  std::int64_t left(const lock_key& row) {
    return std::stoll(value("CAST(UNIX_TIMESTAMP(lock_expire_time) AS SIGNED)-UNIX_TIMESTAMP()", row));
  }
  std::uint64_t claim(row_actor& actor, const lock_key& row, microseconds ttl) {
    const auto* const id = row.row();
    return app->run(database_of(actor).claim({*table, {&id, 1}, actor.id, ++actor.nonce, ttl}));
  }
  bool free(row_actor& actor) {
    return !app->all("SELECT id FROM " + table->table + " WHERE " + database_of(actor).free_rows(*table)).empty();
  }
  static const stores::sql::application_database& database_of(const row_actor& actor) {
    return *stores::sql::application_database_of(*actor.store);
  }

  const dst_zone zone;
};

}  // namespace

TEST_CASE_METHOD(zone_scene, "mysql rows: a claim lasts as long as asked for at every time of every zone",
                 "[mysql][rows][T26][T27]") {
  row_actor a(*this);
  const auto row = make(1);
  const auto zone_name = GENERATE(as<std::string>{}, dst_zone::name, "SYSTEM", "+05:30", "-11:00");
  const auto change = GENERATE(dst_zone::to_summer, dst_zone::to_winter);
  // Before the change, in the first and in the second pass of the hour, at its very ends, and after it.
  const auto offset = GENERATE(-7200, -3600, -1800, -5, -1, 0, 1, 1800, 3595, 3600, 7200);
  CAPTURE(zone_name, change, offset);
  at(zone_name, change + offset);
  REQUIRE(claim(a, row, 20s) == 1);
  CHECK(left(row) == 20);
  CHECK_FALSE(free(a));
  CHECK(claim(a, row, 20s) == 0);
  at(zone_name, change + offset + 20);
  CHECK_FALSE(free(a));  // passed is what now() is greater than
  at(zone_name, change + offset + 21);
  CHECK(free(a));
  CHECK(claim(a, row, 20s) == 1);
  CHECK(left(row) == 20);
  CHECK(app->run(a.release_text(row, 0)) == 1);
  CHECK(left(row) == 0);
  CHECK(free(a));
}

}  // namespace dlock::test
