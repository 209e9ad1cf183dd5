// SPDX-License-Identifier: BSL-1.0
#include "stores/sqlite/lease_table/store.hpp"

#include <fmt/format.h>

#include <chrono>
#include <new>
#include <odb/sqlite/transaction.hxx>
#include <utility>
#include <vector>

#include "dlock/stores/sqlite.hpp"
#include "stores/sqlite/client/errors.hpp"
#include "stores/sqlite/client/file.hpp"

namespace dlock::stores::sqlite::lease_table {

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

/// Whether a connection has a write transaction open in the file, be it its main database or an attached one.
bool writes_to(sqlite3* handle, const file_id& file) noexcept {
#if SQLITE_VERSION_NUMBER >= 3039000
  for (int i = 0; const char* schema = ::sqlite3_db_name(handle, i); ++i) {
    if (::sqlite3_txn_state(handle, schema) != SQLITE_TXN_WRITE) continue;
    if (file_id::of(::sqlite3_db_filename(handle, schema)) == file) return true;
  }
  return false;
#else
  return ::sqlite3_txn_state(handle, "main") == SQLITE_TXN_WRITE &&
         file_id::of(::sqlite3_db_filename(handle, "main")) == file;
#endif
}

}  // namespace

bool sqlite_store::caller_may_wait(fault& why) const noexcept try {
  if (!odb::transaction::has_current()) return true;
  odb::transaction& current = odb::transaction::current();
  if (current.database().id() != odb::id_sqlite) return true;
  auto& theirs = static_cast<odb::sqlite::connection&>(current.connection());
  const std::string& path = file_->settings.path;
  const file_id ours = file_id::of(path.c_str());
  if (ours == file_id{} || !writes_to(theirs.handle(), ours)) return true;
  why = {
      .native = SQLITE_BUSY,
      .text = fmt::format("SQLite file '{}': this thread's current transaction writes to that file, so waiting for a "
                          "lock in it would wait for itself; take the lock before the transaction begins, or give "
                          "the locks a separate file",
                          path)};
  return false;
} catch (...) {
  why = out_of_memory().why;
  return false;
}

std::string sqlite_store::unfit_for_waking() const {
  const auto& path = file_->settings.path;
  if (const char* const kind = network_file_system(file_->host->file_system(path))) {
    return fmt::format("waiters poll: '{}' is on a file system that machines may share ({})", path, kind);
  }
  if (file_->host->mounted_alone(path)) return fmt::format("waiters poll: '{}' is mounted without its folder", path);
  return {};
}

bool sqlite_store::poll_keys(std::map<std::string, seen>& keys) noexcept try {
  // On a connection of its own, which is closed at once: this is for circles of waiters, and those are rare.
  fault why;
  const auto by = connect(poll_limit, why);
  if (by == nullptr) return false;
  std::vector<request> polls;
  for (const auto& [key, holder] : keys) polls.push_back({.action = verb::poll, .resource = key});
  std::vector<reply> replies(polls.size());
  execute(*by, polls, replies);
  auto at = keys.begin();
  for (const auto& each : replies) {
    if (each.result != outcome::yes && each.result != outcome::absent) return false;
    (at++)->second = each.holder;
  }
  return true;
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
