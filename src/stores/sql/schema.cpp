// SPDX-License-Identifier: BSL-1.0
#include "stores/sql/schema.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "dlock/store_interface/unfit_tables.hpp"

namespace dlock::stores::sql {
namespace {

template <class Error = store_error>
[[noreturn]] void refuse(const std::string& text) {
  throw Error(errc::store_failed, text, 0, "", false);
}

schema_mode parse_schema_mode(const std::string& text) {
  if (text == "create") return schema_mode::create;
  if (text == "verify") return schema_mode::verify;
  if (text == "none") return schema_mode::none;
  throw std::invalid_argument(fmt::format("dlock: schema={} is not create, verify or none", text));
}

}  // namespace

lock_table_settings lock_table_settings::take(store_url& url) {
  lock_table_settings settings;
  settings.schema = parse_schema_mode(url.take_param("schema", "create"));
  settings.prefix = url.take_param("prefix", std::string(table_names::default_prefix));
  settings.wake = take_wake(url, true);
  return settings;
}

bool take_wake(store_url& url, bool fallback) {
  const auto wake = url.take_param("wake", fallback ? "on" : "off");
  if (wake != "on" && wake != "off") throw std::invalid_argument("dlock: wake=" + wake + " is not on or off");
  return wake == "on";
}

bool must_make_tables(schema_mode mode, const table_names& names, const std::string& name,
                      const written_version& there) {
  if (mode == schema_mode::none) return false;
  const auto present = there.version;
  constexpr auto ours = schema_version;
  const auto table = names.table("schema_version");
  if (there.migrating) {
    refuse(fmt::format("dlock: {}: a migration of the lock tables to version {} was begun and not finished (table {})",
                       name, present, table));
  }
  if (present == ours) return false;
  if (present > ours) {
    refuse(fmt::format("dlock: {}: the lock tables have version {} (table {}), this program knows only {}", name,
                       present, table, ours));
  }
  if (mode == schema_mode::verify) {
    refuse<unfit_tables>(
        present == 0
            ? fmt::format("dlock: {}: there are no lock tables (table {} is missing or empty) and schema=verify "
                          "does not make them",
                          name, table)
            : fmt::format("dlock: {}: the lock tables have version {} (table {}), this program needs {} and "
                          "schema=verify does not change them",
                          name, present, table, ours));
  }
  return true;
}

std::vector<std::string> create_statements(std::string_view file, const table_names& names) {
  std::vector<std::string> statements;
  constexpr std::string_view begin = "\nCREATE ", end = ";\n";
  for (auto at = file.find(begin); at != std::string_view::npos; at = file.find(begin, at)) {
    ++at;
    statements.push_back(names.adapt(file.substr(at, file.find(end, at) - at)));
  }
  return statements;
}

std::vector<std::string> create_statements(std::string_view file, const table_names& names, std::string_view insert) {
  auto statements = create_statements(file, names);
  statements.push_back(fmt::format("{} {} (\n  {}, {}, {})\n  VALUES ('{}', {}, 0)", insert,
                                   names.quoted_table("schema_version"), names.quoted("name"), names.quoted("version"),
                                   names.quoted("migration"), table_names::schema, schema_version));
  return statements;
}

}  // namespace dlock::stores::sql
