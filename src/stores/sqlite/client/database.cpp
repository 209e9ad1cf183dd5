// SPDX-License-Identifier: GPL-2.0-or-later
#include "stores/sqlite/client/database.hpp"

#include <algorithm>
#include <chrono>
#include <odb/sqlite/connection-factory.hxx>
#include <odb/sqlite/connection.hxx>
#include <odb/sqlite/database.hxx>

#include "dlock/store/store_types.hpp"
#include "engine/transaction_watch.hpp"

namespace dlock::stores::sqlite {

namespace {

/// Its connections wait while others write to the file.
class patient_connections final : public odb::sqlite::connection_pool_factory {
 public:
  explicit patient_connections(microseconds patience) : patience_(patience) {}

 protected:
  pooled_connection_ptr create() override {
    auto made = odb::sqlite::connection_pool_factory::create();
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(patience_).count();
    ::sqlite3_busy_timeout(made->handle(), static_cast<int>(ms));
    return made;
  }

 private:
  const microseconds patience_;
};

odb::transaction_impl* begin_immediate(odb::database& db) {
  return static_cast<odb::sqlite::database&>(db).begin_immediate();
}

[[maybe_unused]] const bool begins_known = (dlock::engine::set_write_begin(odb::id_sqlite, &begin_immediate), true);

}  // namespace

std::unique_ptr<odb::database> open_application_database(const sqlite_settings& settings) {
  // A cache that all connections shared would make writers wait for readers of this process.
  constexpr int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_PRIVATECACHE;
  const auto patience = std::max<microseconds>(settings.busy_timeout, std::chrono::seconds{20});
  return std::make_unique<odb::sqlite::database>(settings.path, flags, true, "",
                                                 std::make_unique<patient_connections>(patience));
}

}  // namespace dlock::stores::sqlite
