// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dlock/store_interface/store_url.hpp"
#include "stores/sql/table_names.hpp"

namespace dlock::stores::sql {

/// The parameter schema= of a store's URL.
enum class schema_mode {
  create,  ///< creates the tables, or migrates them to this version
  verify,  ///< requires that they exist in this version
  none,    ///< checks nothing
};

/// The parameters of a store's URL about its lock tables.
struct lock_table_settings {
  schema_mode schema = schema_mode::create;
  std::string prefix{};
  bool wake = true;  ///< a waiter sleeps until a release wakes it

  /// Takes schema=, prefix= and wake=. Throws std::invalid_argument naming the parameter and its value.
  static lock_table_settings take(store_url& url);
};

/// The parameters of the URL of a server or file with lock tables.
template <class Server>
struct lease_settings : Server, lock_table_settings {
  /// Throws std::invalid_argument naming the parameter and its value.
  static lease_settings parse(store_url url) {
    lease_settings settings{Server::take(url), lock_table_settings::take(url)};
    url.expect_no_more_params();
    return settings;
  }
};

/// Takes wake=, which is "on" or "off". Throws as take().
bool take_wake(store_url& url, bool fallback);

/// The version of the tables in sql/schema-*.sql and of the mapped classes in odb/ (model_version.hpp).
inline constexpr std::uint64_t schema_version = 1;

/// The version of the existing tables, from the version table.
struct written_version {
  std::uint64_t version = 0;  ///< 0 if there are no tables
  bool migrating = false;
};

/// Returns whether to create the tables now: they are missing, and `mode` is create. Throws store_error if `mode` or
/// this program does not allow their state: missing, older, newer, half migrated. `name` is the store's, for messages.
bool must_make_tables(schema_mode mode, const table_names& names, const std::string& name,
                      const written_version& there);

/// The statements that make the tables of `names`: those of a file in sql/, in its order, each of which does nothing if
/// its table exists; then `insert`, the database's INSERT that leaves an existing row, writes the version, so that
/// until then the tables count as not created.
std::vector<std::string> create_statements(std::string_view file, const table_names& names, std::string_view insert);

/// The same without the version: of a file whose tables have none.
std::vector<std::string> create_statements(std::string_view file, const table_names& names);

/// If the tables have lost their floor, the new one is this much above the highest fence that is left, because clean-up
/// may have deleted rows with higher ones.
inline constexpr int above_lost_floor = 1'000'000;

}  // namespace dlock::stores::sql
