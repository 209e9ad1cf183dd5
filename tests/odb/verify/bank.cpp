// SPDX-License-Identifier: BSL-1.0
#include "odb/verify/bank.hpp"

#include <fmt/format.h>

#include <odb/mysql/database.hxx>
#include <odb/query.hxx>
#include <odb/schema-catalog.hxx>
#include <odb/sqlite/connection-factory.hxx>
#include <odb/sqlite/database.hxx>
#include <odb/sqlite/transaction.hxx>
#include <odb/transaction.hxx>

#include "dlock/odb/row.hpp"
#include "dlock/store_interface/store_url.hpp"
#include "wallet-odb.hxx"

namespace dlock::test {

namespace {

/// Whose connections wait for other writers of the file.
class patient_factory final : public odb::sqlite::connection_pool_factory {
 protected:
  pooled_connection_ptr create() override {
    auto connection = odb::sqlite::connection_pool_factory::create();
    ::sqlite3_busy_timeout(connection->handle(), 20'000);
    return connection;
  }
};

}  // namespace

std::unique_ptr<odb::database> open_bank(const std::string& url) {
  const auto parts = store_url::parse(url);
  if (parts.scheme == "sqlite") {
    // With a cache that all connections of this process share, who reads would wait for who writes.
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_PRIVATECACHE;
    return std::make_unique<odb::sqlite::database>(parts.path, flags, true, "", std::make_unique<patient_factory>());
  }
  const auto socket = parts.params.find("socket");
  if (socket != parts.params.end()) {
    return std::make_unique<odb::mysql::database>(parts.user, parts.password, parts.path, "", 0, &socket->second);
  }
  const auto& at = parts.hosts.at(0);
  return std::make_unique<odb::mysql::database>(parts.user, parts.password, parts.path, at.host, at.port);
}

bool is_sqlite(odb::database& db) { return db.id() == odb::id_sqlite; }

odb::transaction_impl* begin(odb::database& db) {
  return is_sqlite(db) ? static_cast<odb::sqlite::database&>(db).begin_immediate() : db.begin();
}

void make_bank(odb::database& db, std::uint64_t wallets, std::int64_t balance) {
  odb::transaction t(begin(db));
  odb::schema_catalog::create_schema(db, "", true);
  for (std::uint64_t id = 1; id <= wallets; ++id) {
    wallet wallet;
    wallet.id = id;
    wallet.balance = balance;
    db.persist(wallet);
  }
  t.commit();
}

lock_key wallet_key(lock_service& locks, odb::database& db, std::uint64_t id) {
  return id % 2 == 0 ? row<wallet>(locks, db, id) : lock_key(fmt::format("wallet:{}", id));
}

wallet read(odb::database& db, std::uint64_t id) {
  odb::transaction t(db.begin());
  const auto found = load(db, id);
  t.commit();
  return found;
}

namespace {

template <class T>
std::vector<T> all(odb::database& db) {
  odb::transaction t(db.begin());
  auto found = db.query<T>(odb::query<T>(true) + "ORDER BY" + odb::query<T>::id);
  std::vector<T> rows(found.begin(), found.end());
  t.commit();
  return rows;
}

}  // namespace

std::vector<wallet> all_wallets(odb::database& db) { return all<wallet>(db); }
std::vector<entry> all_entries(odb::database& db) { return all<entry>(db); }

wallet load(odb::database& db, std::uint64_t id) {
  wallet found;
  db.load(id, found);
  return found;
}

int wallets_one_by_one(odb::database& db, const std::function<void()>& at_each) {
  int found = 0;
  for (const auto& each : db.query<wallet>(odb::query<wallet>(true), false)) {
    static_cast<void>(each);
    ++found;
    at_each();
  }
  return found;
}

void write(odb::database& db, std::uint64_t id, std::int64_t balance, std::uint64_t fence) {
  // Not by database::update(), which would look at the version: nothing but the lock is to be in the way.
  db.execute(fmt::format("UPDATE verify_wallet SET balance = {}, fence = {} WHERE id = {}", balance, fence, id));
}

void persist(odb::database& db, entry entry) { db.persist(entry); }

}  // namespace dlock::test
