// SPDX-License-Identifier: GPL-2.0-or-later
#include "database.hpp"

#include <dlock/store_url.hpp>
#include <odb/schema-catalog.hxx>
#include <odb/sqlite/connection-factory.hxx>
#include <odb/sqlite/database.hxx>
#include <stdexcept>
#ifdef DLOCK_HAS_MYSQL
#include <odb/mysql/database.hxx>
#endif

namespace support {
namespace {

/// Its connections wait while another process writes to the file.
class patient_connections final : public odb::sqlite::connection_pool_factory {
 protected:
  pooled_connection_ptr create() override {
    auto made = odb::sqlite::connection_pool_factory::create();
    ::sqlite3_busy_timeout(made->handle(), 20'000);
    return made;
  }
};

}  // namespace

std::unique_ptr<odb::database> open_database(const std::string& url) {
  const auto parts = dlock::store_url::parse(url);
  if (parts.scheme == "sqlite") {
    return std::make_unique<odb::sqlite::database>(parts.path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, true, "",
                                                   std::make_unique<patient_connections>());
  }
#ifdef DLOCK_HAS_MYSQL
  if (parts.scheme == "mysql" && !parts.hosts.empty()) {
    const auto& at = parts.hosts.front();
    return std::make_unique<odb::mysql::database>(parts.user, parts.password, parts.path, at.host, at.port);
  }
#endif
  throw std::invalid_argument("no database for " + parts.redacted());
}

void make_tables(odb::database& db) {
  odb::transaction t(begin(db));
  odb::schema_catalog::create_schema(db);  // drops those that are there
  t.commit();
}

odb::transaction_impl* begin(odb::database& db) {
  if (db.id() == odb::id_sqlite) return static_cast<odb::sqlite::database&>(db).begin_immediate();
  return db.begin();
}

}  // namespace support
