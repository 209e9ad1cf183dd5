// SPDX-License-Identifier: BSL-1.0
#include "stores/sqlite/lease_table/store.hpp"

#include <fmt/format.h>

#include <new>

#include "dlock/stores/sqlite.hpp"

namespace dlock::stores::sqlite::lease_table {

lease_file::lease_file(const lease_settings& from, std::shared_ptr<const sqlite_host> machine)
    : sqlite_file(from, std::move(machine)),
      schema(from.schema),
      wakes(from.wake),
      sql(sql::make_table_names(from.prefix, '"')),
      names(sql.names()),
      row_sql(names, *this) {}

std::string lease_file::unfit_for_waking() const {
  const auto& path = settings.path;
  if (const char* const kind = network_file_system(host->file_system(path))) {
    return fmt::format("waiters poll: '{}' is on a file system that machines may share ({})", path, kind);
  }
  if (host->mounted_alone(path)) return fmt::format("waiters poll: '{}' is mounted without its folder", path);
  return {};
}

std::unique_ptr<connection> sqlite_store::connect(microseconds limit, fault& why,
                                                  const std::stop_token& cancel) noexcept try {
  auto connection = std::make_unique<lease_connection>(file_);
  if (!connection->open(limit, false, why, cancel)) return nullptr;
  return connection;
} catch (...) {
  why = out_of_memory().why;
  return nullptr;
}

namespace {

/// How long a connection for poll_keys() may take to open.
constexpr std::chrono::seconds poll_limit{1};

}  // namespace

bool sqlite_store::poll_keys(std::map<std::string, seen>& keys, std::map<id128, std::string>& sessions) noexcept try {
  // Uses a separate connection, which is closed at once, because deadlock cycles of waiters are rare.
  fault why;
  const auto by = connect(poll_limit, why);
  if (by == nullptr) return false;
  std::vector<request> polls;
  for (const auto& [key, holder] : keys) polls.push_back({.action = verb::poll, .resource = key});
  std::vector<reply> replies(polls.size());
  if (!polls.empty()) execute(*by, polls, replies);
  auto at = keys.begin();
  for (const auto& each : replies) {
    if (each.result != outcome::yes && each.result != outcome::absent) return false;
    (at++)->second = each.holder;
  }
  return admin_.name_sessions(*by, sessions).result == outcome::yes;
} catch (const std::bad_alloc&) {
  return false;
}

}  // namespace dlock::stores::sqlite::lease_table

namespace dlock::stores {

std::shared_ptr<store> open_sqlite(store_url url) {
  return std::make_shared<sqlite::lease_table::sqlite_store>(
      sqlite::lease_table::lease_settings::parse(std::move(url)));
}

}  // namespace dlock::stores

// Runs before the constructors of static objects, which may open stores.
extern "C" [[gnu::constructor(200)]] DLOCK_EXPORT void dlock_register_sqlite() {
  dlock::register_store("sqlite", dlock::stores::open_sqlite);
}
