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
  create,  ///< make the tables, or bring them to this version
  verify,  ///< they must be there, in this version
  none,    ///< don't look
};

/// What a store's URL says of its lock tables.
struct lock_table_settings {
  schema_mode schema = schema_mode::create;
  std::string prefix{};
  bool wake = true;  ///< a waiter sleeps until a release wakes it

  /// Takes schema=, prefix= and wake=. Throws std::invalid_argument naming the parameter and its value.
  static lock_table_settings take(store_url& url);
};

/// What the URL of a server or file with lock tables says.
template <class Server>
struct lease_settings : Server, lock_table_settings {
  /// Throws std::invalid_argument naming the parameter and its value.
  static lease_settings parse(store_url url) {
    lease_settings settings{Server::take(url), lock_table_settings::take(url)};
    url.expect_no_more_params();
    return settings;
  }
};

/// Takes wake=, "on" or "off". Throws likewise.
bool take_wake(store_url& url, bool fallback);

/// Of the tables that sql/schema-*.sql has, and the mapped classes in odb/ (model_version.hpp).
inline constexpr std::uint64_t schema_version = 1;

/// How far the tables are, as the version table says it.
struct written_version {
  std::uint64_t version = 0;  ///< 0: there are none
  bool migrating = false;
};

/// Whether the tables are to be made now: `mode` says create, and they are not there. Throws store_error if they are
/// not as `mode` and this program need them: missing, older, newer, half migrated. `name` is the store's, for messages.
bool must_make_tables(schema_mode mode, const table_names& names, const std::string& name,
                      const written_version& there);

/// The CREATE TABLE statements of a file in sql/, in its order, for the tables of `names`. Each is harmless where its
/// table is there already.
std::vector<std::string> create_statements(std::string_view file, const table_names& names);

/// Where tables have lost their floor, a new one is so much above the fences that are still there: no one knows how
/// high those were that clean-up has deleted.
inline constexpr int above_lost_floor = 1'000'000;

}  // namespace dlock::stores::sql
