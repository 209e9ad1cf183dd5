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

request row_actor::about(verb action, const lock_key& row) const {
  return {.action = action, .resource = row.view(), .session = id, .row = row.row(), .nonce = nonce};
}

std::vector<request> row_actor::takes(const std::vector<lock_key>& rows, microseconds own_ttl) {
  std::vector<request> asked;
  for (const auto& row : rows) {
    ++nonce;
    asked.push_back(about(verb::take, row));
    asked.back().kind = kind_for(own_ttl);
    asked.back().ttl = own_ttl;
  }
  return asked;
}

reply row_actor::take(const lock_key& row, microseconds own_ttl) {
  ++nonce;
  auto q = about(verb::take, row);
  q.kind = kind_for(own_ttl);
  q.ttl = own_ttl;
  return run(q);
}

std::uint64_t row_actor::acquire(const lock_key& row, microseconds own_ttl) {
  const reply granted = take(row, own_ttl);
  REQUIRE(answer(granted) == outcome::yes);
  return granted.fence;
}

reply row_actor::take_over(const lock_key& row, const seen& holder, microseconds own_ttl) {
  ++nonce;
  auto q = about(verb::take_over, row);
  q.kind = kind_for(own_ttl);
  q.ttl = own_ttl;
  q.expected = &holder;
  return run(q);
}

reply row_actor::extend(const lock_key& row, std::uint64_t fence, microseconds own_ttl) {
  auto q = grant(row, fence);
  q.action = verb::extend;
  q.kind = kind_for(own_ttl);
  q.ttl = own_ttl;
  return run(q);
}

reply row_actor::release(const lock_key& row, std::uint64_t fence) {
  auto q = grant(row, fence);
  q.action = verb::release;
  return run(q);
}

reply row_actor::cancel(const lock_key& row) { return run(about(verb::cancel, row)); }

seen row_actor::at(const lock_key& row) {
  const reply r = poll(row);
  REQUIRE(answer(r) == outcome::yes);
  return r.holder;
}

request row_actor::grant(const lock_key& row, std::uint64_t fence) const {
  auto q = about(verb::poll, row);
  q.fence = fence;
  return q;
}

std::string row_actor::text() const { return fmt::format("{}/{}{:012x}", id.hex(), tables, nonce); }

}  // namespace dlock::test
