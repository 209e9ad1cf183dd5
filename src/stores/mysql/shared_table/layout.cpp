// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/shared_table/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "stores/mysql/client/check.hpp"
#include "stores/mysql/client/text.hpp"
#include "stores/sql/schema.hpp"

namespace dlock::stores::mysql::shared_table {
namespace {

constexpr std::size_t longest_name = 64;
constexpr const char* waiter_prefix = "dlock_waiter_";

column_type type_of(std::string_view name) {
  if (name == "varchar" || name == "char") return column_type::text;
  if (name == "varbinary" || name == "binary") return column_type::bytes;
  if (name == "timestamp") return column_type::timestamp;
  if (name == "datetime") return column_type::datetime;
  return name.ends_with("int") ? column_type::integer : column_type::other;
}

std::size_t number_in(const std::optional<std::string>& text) { return text ? std::stoul(*text) : 0; }

/// Counts no continuation bytes.
std::size_t characters_in(std::string_view utf8) {
  return static_cast<std::size_t>(
      std::count_if(utf8.begin(), utf8.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

}  // namespace

std::string checked_name(const std::string& parameter, std::string name) {
  // A '?' in a statement's text would be a parameter.
  if (name.empty() || name.size() > longest_name || !is_utf8(name) || name.find('?') != std::string::npos) {
    throw std::invalid_argument(
        fmt::format("dlock: mysql URL: {}={} is not the name of a table or column (1 to {} characters, no '?')",
                    parameter, name, longest_name));
  }
  return name;
}

std::string column::quoted() const { return quote_mysql_name(name); }

microseconds column::unit() const noexcept {
  microseconds unit{1};
  for (unsigned digit = digits; digit < 6; ++digit) unit *= 10;
  return unit;
}

table_settings table_settings::take(store_url& url, std::string scheme, const std::string& table) {
  table_settings settings{mysql_settings::take(url)};
  settings.scheme = std::move(scheme);
  settings.table = checked_name("table", url.take_param("table", table));
  return settings;
}

void table_settings::take_wake(store_url& url, bool fallback) {
  if (!sql::take_wake(url, fallback)) return;
  waiter_table = waiter_prefix + table;
  if (waiter_table.size() > longest_name) {
    throw std::invalid_argument(fmt::format(
        "dlock: mysql URL: wake=on: the waiter table of table={} would be {}, which is longer than {} bytes", table,
        waiter_table, longest_name));
  }
}

std::string take_column(store_url& url, const char* parameter, const std::string& fallback) {
  return checked_name(parameter, url.take_param(parameter, fallback));
}

void table_settings::take_columns(store_url& url, std::initializer_list<std::pair<const char*, std::string>> defaults) {
  for (const auto& [parameter, fallback] : defaults) columns[parameter] = take_column(url, parameter, fallback);
}

layout layout::read(mysql_connection& connection, const table_settings& settings) {
  layout found;
  found.store_ = settings.name;
  found.scheme_ = settings.scheme;
  found.table_ = quote_mysql_name(settings.table);
  const auto here =
      fmt::format("TABLE_SCHEMA=DATABASE() AND TABLE_NAME=CONVERT({} USING utf8mb4)", mysql_literal(settings.table));
  const auto ask = [&](const std::string& sql) {
    return read_rows(connection, settings.name, sql, "reading the table");
  };
  const auto engine = ask("SELECT ENGINE FROM information_schema.TABLES WHERE " + here);
  if (engine.empty()) found.refuse("there is no such table, or this user may not see it");
  if (engine[0][0].value_or("") != "InnoDB") {
    found.refuse(fmt::format("its engine is {}: dlock needs the row locks of InnoDB", engine[0][0].value_or("(none)")));
  }
  for (const auto& row : ask("SELECT COLUMN_NAME, DATA_TYPE, CHARACTER_MAXIMUM_LENGTH, CHARACTER_SET_NAME, "
                             "COLLATION_NAME, DATETIME_PRECISION, IS_NULLABLE, EXTRA LIKE '%VIRTUAL GENERATED%', "
                             "EXTRA LIKE '%ON UPDATE%' "
                             "FROM information_schema.COLUMNS "
                             "WHERE " +
                             here)) {
    found.columns_.push_back({.name = row[0].value_or(""),
                              .type = type_of(row[1].value_or("")),
                              .room = number_in(row[2]),
                              .charset = row[3].value_or(""),
                              .collation = row[4].value_or(""),
                              .digits = static_cast<unsigned>(number_in(row[5])),
                              .nullable = row[6].value_or("") == "YES",
                              .computed = row[7].value_or("") == "1",
                              .follows_updates = row[8].value_or("") == "1",
                              .padded = row[1].value_or("") == "binary"});
  }
  for (const auto& row : ask("SELECT INDEX_NAME, MAX(COLUMN_NAME) FROM information_schema.STATISTICS WHERE " + here +
                             " AND NON_UNIQUE=0 GROUP BY INDEX_NAME HAVING COUNT(*)=1 AND MAX(SUB_PART) IS "
                             "NULL")) {
    if (row[0].value_or("") == "PRIMARY") found.primary_ = found.get(row[1].value_or(""), "primary key");
    found.unique_.push_back(row[1].value_or(""));
  }
  const auto primary = found.primary_.type;
  if (primary != column_type::text && primary != column_type::bytes && primary != column_type::integer) {
    found.refuse("it has no primary key of one number or text");
  }
  return found;
}

void layout::refuse(const std::string& why) const {
  fail(store_, fmt::format("scheme {}: table {}: {}", scheme_, table_, why));
}

const column& layout::get(const std::string& name, const char* parameter) const {
  const auto found =
      std::find_if(columns_.begin(), columns_.end(), [&](const column& each) { return each.name == name; });
  if (found == columns_.end()) refuse(fmt::format("there is no column '{}' ({}=)", name, parameter));
  return *found;
}

const column& layout::key(const std::string& name) const {
  const auto& found = get(name, "key");
  if (found.type != column_type::text && found.type != column_type::bytes) {
    refuse(fmt::format("column '{}' (key=) holds no text", name));
  }
  if (found.padded) {
    refuse(fmt::format(
        "column '{}' (key=) is BINARY({}), which fills up a shorter key with zero bytes, so that it is never "
        "found again: make it VARBINARY({})",
        name, found.room, found.room));
  }
  if (std::find(unique_.begin(), unique_.end(), name) == unique_.end()) {
    refuse(
        fmt::format("column '{}' (key=) has no unique index to itself: two rows could be one lock, and a search would "
                    "lock rows of others",
                    name));
  }
  return found;
}

const column& layout::owner(const std::string& name, std::size_t characters) const {
  const auto& found = get(name, "owner");
  if (found.type != column_type::text || found.room < characters) {
    refuse(fmt::format("column '{}' (owner=) has no room for a text of {} characters, which names the holder", name,
                       characters));
  }
  return found;
}

const column& layout::time(const std::string& name, const char* parameter) const {
  const auto& found = get(name, parameter);
  if (found.type != column_type::timestamp && found.type != column_type::datetime) {
    refuse(fmt::format("column '{}' ({}=) is neither TIMESTAMP nor DATETIME", name, parameter));
  }
  return found;
}

const column& layout::expiry(const std::string& name) const {
  const auto& found = time(name, "expiry");
  if (found.follows_updates) {
    refuse(fmt::format(
        "column '{}' (expiry=) is ON UPDATE CURRENT_TIMESTAMP: every other update of a row would end its lock. "
        "A server with explicit_defaults_for_timestamp=OFF makes it so where a TIMESTAMP NOT NULL has no "
        "default: give the column DEFAULT CURRENT_TIMESTAMP",
        name));
  }
  return found;
}

const column& layout::number(const std::string& name, const char* parameter) const {
  const auto& found = get(name, parameter);
  if (found.type != column_type::integer) refuse(fmt::format("column '{}' ({}=) is no integer", name, parameter));
  return found;
}

const column* layout::outside_index_of(const column& key) const noexcept {
  const auto found = std::find_if(columns_.begin(), columns_.end(), [&](const column& each) {
    return each.name != key.name && each.name != primary_.name && !each.computed && each.type != column_type::other;
  });
  return found == columns_.end() ? nullptr : &*found;
}

std::string unfit_for(const column& key, std::string_view text) {
  if (key.type == column_type::bytes) {
    if (text.size() <= key.room) return {};
    return fmt::format("it has {} bytes, and column {} has room for {}", text.size(), key.quoted(), key.room);
  }
  if (!is_utf8(text)) return fmt::format("it is not well-formed UTF-8, and column {} holds text", key.quoted());
  if (const auto size = characters_in(text); size > key.room) {
    return fmt::format("it has {} characters, and column {} has room for {}", size, key.quoted(), key.room);
  }
  if (text.find('\0') != std::string_view::npos) return "it has a zero byte";
  const bool short_utf8 = key.charset == "utf8" || key.charset == "utf8mb3";
  const unsigned char highest = key.charset == "utf8mb4" ? 0xff : short_utf8 ? 0xef : 0x7f;
  if (std::any_of(text.begin(), text.end(), [&](char c) { return static_cast<unsigned char>(c) > highest; })) {
    return fmt::format("it has characters that dlock does not write to column {} of the character set {}", key.quoted(),
                       key.charset);
  }
  return {};
}

std::string key_parameter(const column& key, std::string_view marker) {
  // The connection speaks utf8mb4, and a parameter has the collation of what it is compared with.
  if (key.type == column_type::bytes || key.charset == "utf8mb4") return std::string(marker);
  return fmt::format("CONVERT({} USING {}) COLLATE {}", marker, key.charset, key.collation);
}

std::string value_literal(const column& of, std::string_view value) {
  return of.type == column_type::integer ? std::string(value) : value_of_bytes(of, mysql_literal(value));
}

std::string value_of_bytes(const column& of, std::string_view bytes) {
  if (of.type == column_type::bytes) return std::string(bytes);
  return fmt::format("CONVERT(CONVERT({} USING utf8mb4) USING {}) COLLATE {}", bytes, of.charset, of.collation);
}

}  // namespace dlock::stores::mysql::shared_table
