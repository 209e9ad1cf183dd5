// SPDX-License-Identifier: BSL-1.0

/// The parameter `scheme` of a mysql:// URL chooses the store.

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "dlock/stores/mysql.hpp"
#include "dlock/stores/mysql_for_update.hpp"
#include "dlock/stores/mysql_named_lock.hpp"
#include "dlock/stores/mysql_shared_tables.hpp"
#include "stores/mysql/for_update/store.hpp"
#include "stores/mysql/lease_table/store.hpp"
#include "stores/mysql/named_lock/store.hpp"
#include "stores/mysql/shared_table/row_schemes.hpp"
#include "stores/mysql/t_lock/store.hpp"

namespace dlock::stores {
namespace {

std::shared_ptr<store> open_lease_table(store_url url) {
  return std::make_shared<mysql::lease_table::mysql_store>(mysql::lease_table::lease_settings::parse(std::move(url)));
}

struct scheme {
  std::string_view name;
  std::shared_ptr<store> (*open)(store_url);
};

constexpr scheme schemes[] = {
    {"lease_table", open_lease_table},
    {"unique_insert", [](store_url url) { return open_unique_insert(std::move(url)); }},
    {"state_row", [](store_url url) { return open_state_row(std::move(url)); }},
    {"shedlock", [](store_url url) { return open_shedlock(std::move(url)); }},
    {"t_lock", [](store_url url) { return open_t_lock(std::move(url)); }},
    {"named_lock", [](store_url url) { return open_named_lock(std::move(url)); }},
    {"for_update", [](store_url url) { return open_for_update(std::move(url)); }},
};

}  // namespace

std::shared_ptr<store> open_unique_insert(store_url url, const unique_insert_options& options) {
  return std::make_shared<mysql::shared_table::shared_table_store>(
      mysql::shared_table::unique_insert(std::move(url), options));
}

std::shared_ptr<store> open_state_row(store_url url, const state_row_options& options) {
  return std::make_shared<mysql::shared_table::shared_table_store>(
      mysql::shared_table::state_row(std::move(url), options));
}

std::shared_ptr<store> open_shedlock(store_url url, const shedlock_options& options) {
  return std::make_shared<mysql::shared_table::shared_table_store>(
      mysql::shared_table::shedlock(std::move(url), options));
}

std::shared_ptr<store> open_t_lock(store_url url, const t_lock_options& options) {
  return std::make_shared<mysql::t_lock::t_lock_store>(mysql::t_lock::t_lock_scheme(std::move(url), options));
}

std::shared_ptr<store> open_named_lock(store_url url, const named_lock_options& options) {
  return std::make_shared<mysql::named_lock::named_lock_store>(
      mysql::named_lock::named_lock_settings(std::move(url), options));
}

std::shared_ptr<store> open_for_update(store_url url, const for_update_options& options) {
  return std::make_shared<mysql::for_update::for_update_store>(
      mysql::for_update::for_update_settings(std::move(url), options));
}

std::shared_ptr<store> open_mysql(store_url url) {
  const auto name = url.params.contains("scheme") ? url.params.at("scheme") : std::string(schemes[0].name);
  const auto found =
      std::find_if(std::begin(schemes), std::end(schemes), [&](const auto& each) { return each.name == name; });
  if (found != std::end(schemes)) return found->open(std::move(url));
  std::string names;
  for (const auto& each : schemes) names += fmt::format("{}{}", names.empty() ? "" : ", ", each.name);
  throw std::invalid_argument(fmt::format("dlock: mysql URL: scheme={} is not one of {}", name, names));
}

}  // namespace dlock::stores

// Runs before the constructors of static objects, which may open stores.
extern "C" [[gnu::constructor(200)]] DLOCK_EXPORT void dlock_register_mysql() {
  dlock::register_store("mysql", dlock::stores::open_mysql);
}
