// SPDX-License-Identifier: BSL-1.0
#include <dlock/detail/odb_compat.hpp>
//
#include <fmt/format.h>
#include <odb/exceptions.hxx>
#include <odb/sqlite/connection-factory.hxx>
#include <odb/sqlite/connection.hxx>
#include <odb/sqlite/database.hxx>
#include <odb/sqlite/exceptions.hxx>
#include <odb/sqlite/query.hxx>
#include <odb/sqlite/transaction.hxx>

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include "odb/database_part.hpp"
#include "stores/sqlite/client/caller.hpp"
#include "stores/sqlite/client/errors.hpp"
#include "stores/sqlite/client/file.hpp"

namespace dlock::detail {

namespace {

/// When this thread's connection began to wait. One thread at a time uses a connection.
thread_local std::chrono::steady_clock::time_point began_to_wait{};

/// SQLite's busy handler: returns whether to try again. SQLite's own handler pauses longer and longer, up to 100 ms, so
/// the process that has waited longest gets a free file last: of four processes that wrote all the time, one did nearly
/// all the writes. Short random pauses give each its share. A process that has waited for a second waits for one long
/// transaction, and need not be quick.
int wait_while_busy(void* timeout, int tries) {
  using namespace std::chrono_literals;
  const auto now = std::chrono::steady_clock::now();
  if (tries == 0) began_to_wait = now;
  const auto waited = now - began_to_wait;
  if (waited >= *static_cast<const microseconds*>(timeout)) return 0;
  thread_local std::minstd_rand chance{static_cast<unsigned>(now.time_since_epoch().count())};
  const microseconds least = waited < 1s ? 100us : 500us;
  std::uniform_int_distribution<microseconds::rep> pause(least.count(), least.count() * 3);
  std::this_thread::sleep_for(microseconds{pause(chance)});
  return 1;
}

/// Its connections wait while others write to the file, by wait_while_busy().
class patient_connections final : public odb::sqlite::connection_pool_factory {
 public:
  explicit patient_connections(microseconds timeout) : timeout_(timeout) {}

 protected:
  pooled_connection_ptr create() override {
    auto connection = odb::sqlite::connection_pool_factory::create();
    ::sqlite3_busy_handler(connection->handle(), &wait_while_busy, &timeout_);
    return connection;
  }

 private:
  microseconds timeout_;  // outlives the connections, which the pool owns
};

/// The connection of the calling thread's current transaction.
sqlite3* connection_here() noexcept {
  if (!odb::transaction::has_current()) return nullptr;
  auto& connection = odb::transaction::current().connection();
  if (connection.database().id() != odb::id_sqlite) return nullptr;
  return static_cast<odb::sqlite::connection&>(connection).handle();
}

class sqlite_part final : public database_part {
 public:
  void* handle_of(odb::connection& connection) const noexcept override { return of(connection).handle(); }

  std::string address_of(odb::database& database) const override {
    const auto& path = static_cast<const odb::sqlite::database&>(database).name();
    const auto id = stores::sqlite::file_id::of(path.c_str());
    if (id == stores::sqlite::file_id{}) return {};  // the database is in memory, or the file does not exist yet
    return fmt::format("{}:{}:{}", id.device, id.inode, path);
  }

  std::unique_ptr<odb::database> open(const stores::sql::application_database& at) const override {
    // A cache that all connections shared would make writers wait for readers of this process.
    constexpr int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_PRIVATECACHE;
    const auto to = at.address();
    const auto timeout = std::max<microseconds>(to.busy_timeout, std::chrono::seconds{20});
    return std::make_unique<odb::sqlite::database>(to.database, flags, true, "",
                                                   std::make_unique<patient_connections>(timeout));
  }

  odb::transaction_impl* begin_to_write(odb::connection& connection) const override {
    return of(connection).begin_immediate();
  }
  odb::transaction_impl* begin_to_write(odb::database& database) const override {
    return static_cast<odb::sqlite::database&>(database).begin_immediate();
  }

  column_name name_of(const void* column) const override {
    const auto& is = *static_cast<const odb::sqlite::query_column_base*>(column);
    return {is.table(), is.column()};
  }

  fault fault_of(const stores::sql::application_database& at, const odb::exception& error) const override {
    if (const auto* const known = dynamic_cast<const odb::sqlite::database_exception*>(&error))
      return at.fault_of(known->extended_error(), "", known->message());
    if (dynamic_cast<const odb::timeout*>(&error) != nullptr) {
      // ODB does not tell these two codes apart.
      auto why = at.fault_of(SQLITE_BUSY, "", "");
      why.text += fmt::format("; or {}", stores::sqlite::busy_snapshot_advice);
      return why;
    }
    if (dynamic_cast<const odb::deadlock*>(&error) != nullptr) return at.fault_of(SQLITE_LOCKED, "", "");
    return at.fault_of(0, "", error.what());
  }

 private:
  static odb::sqlite::connection& of(odb::connection& connection) noexcept {
    return static_cast<odb::sqlite::connection&>(connection);
  }
};

}  // namespace

}  // namespace dlock::detail

// Runs before the constructors of static objects, which may open databases.
extern "C" [[gnu::constructor(200)]] DLOCK_EXPORT void dlock_register_odb_sqlite() {
  static const auto* const part = new dlock::detail::sqlite_part;
  dlock::detail::add_database_part(odb::id_sqlite, *part);
  dlock::stores::sqlite::watch_callers(&dlock::detail::connection_here);
}
