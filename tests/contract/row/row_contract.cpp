// SPDX-License-Identifier: BSL-1.0
#include "contract/row/row_contract.hpp"

#include <fmt/format.h>

namespace dlock::test {

lock_key row_scene::make(std::int64_t id) {
  auto row = key({id});
  insert(row);
  return row;
}

lock_key row_scene::make(const std::string& id) {
  auto row = key({id});
  insert(row);
  return row;
}

lock_key row_scene::make(std::int64_t region, const std::string& name) {
  auto row = key({region, name});
  insert(row);
  return row;
}

namespace {

std::string literal_of(const row_fixture& fixture, const row_value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return fixture.literal(*text);
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  return std::to_string(std::get<std::uint64_t>(value));
}

}  // namespace

void row_scene::insert(const lock_key& row) {
  const auto& id = *row.row();
  std::string columns;
  std::string values;
  for (std::size_t i = 0; i < id.values.size(); ++i) {
    columns += (i == 0 ? "" : ", ") + table->id.at(i);
    values += (i == 0 ? "" : ", ") + literal_of(*fixture, id.values[i]);
  }
  REQUIRE(app->run(fmt::format("INSERT INTO {} ({}) VALUES ({})", table->table, columns, values)) == 1);
}

lock_key row_scene::numbered_key(std::int64_t i) const {
  const auto name = fmt::format("it's n\xc2\xba {:03}", i);
  if (kind == row_id_kind::composite) return key({i % 3, name});
  return kind == row_id_kind::text ? key({name}) : key({i});
}

lock_key row_scene::make_numbered(std::int64_t i) {
  auto row = numbered_key(i);
  insert(row);
  return row;
}

std::string row_scene::where(const lock_key& row) const {
  const auto& id = *row.row();
  std::string text;
  for (std::size_t i = 0; i < id.values.size(); ++i) {
    text += fmt::format("{}{}={}", i == 0 ? "" : " AND ", table->id.at(i), literal_of(*fixture, id.values[i]));
  }
  return text;
}

std::string row_scene::value(const std::string& column, const lock_key& row) {
  return app->one(fmt::format("SELECT {} FROM {} WHERE {}", column, table->table, where(row))).value_or("");
}

std::uint64_t row_scene::set(const std::string& assignments, const lock_key& row) {
  return app->run(fmt::format("UPDATE {} SET {} WHERE {}", table->table, assignments, where(row)));
}

std::string row_actor::text() const { return fmt::format("{}/{}{:012x}", id.hex(), tables, nonce); }

}  // namespace dlock::test
