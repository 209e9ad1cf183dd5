// SPDX-License-Identifier: GPL-2.0-or-later
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
#include "dlock/store/store_url.hpp"
#include "wallet-odb.hxx"

namespace dlock::test {

namespace {

/// Whose connections wait for other writers of the file.
class patient_factory final : public odb::sqlite::connection_pool_factory {
 protected:
  pooled_connection_ptr create() override {
    auto made = odb::sqlite::connection_pool_factory::create();
    ::sqlite3_busy_timeout(made->handle(), 20'000);
    return made;
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

bool is_sqlite(odb::database& on) { return on.id() == odb::id_sqlite; }

odb::transaction_impl* begin(odb::database& on) {
  return is_sqlite(on) ? static_cast<odb::sqlite::database&>(on).begin_immediate() : on.begin();
}

void make_bank(odb::database& on, std::uint64_t wallets, std::int64_t balance) {
  odb::transaction t(begin(on));
  odb::schema_catalog::create_schema(on, "", true);
  for (std::uint64_t id = 1; id <= wallets; ++id) {
    wallet one;
    one.id = id;
    one.balance = balance;
    on.persist(one);
  }
  t.commit();
}

lock_key wallet_key(lock_service& locks, odb::database& on, std::uint64_t id) {
  return id % 2 == 0 ? row<wallet>(locks, on, id) : lock_key(fmt::format("wallet:{}", id));
}

wallet read(odb::database& on, std::uint64_t id) {
  odb::transaction t(on.begin());
  const auto found = load(on, id);
  t.commit();
  return found;
}

namespace {

template <class T>
std::vector<T> all(odb::database& on) {
  odb::transaction t(on.begin());
  auto found = on.query<T>(odb::query<T>(true) + "ORDER BY" + odb::query<T>::id);
  std::vector<T> made(found.begin(), found.end());
  t.commit();
  return made;
}

}  // namespace

std::vector<wallet> all_wallets(odb::database& on) { return all<wallet>(on); }
std::vector<entry> all_entries(odb::database& on) { return all<entry>(on); }

wallet load(odb::database& on, std::uint64_t id) {
  wallet found;
  on.load(id, found);
  return found;
}

int wallets_one_by_one(odb::database& on, const std::function<void()>& at_each) {
  int found = 0;
  for (const auto& each : on.query<wallet>(odb::query<wallet>(true), false)) {
    static_cast<void>(each);
    ++found;
    at_each();
  }
  return found;
}

void write(odb::database& on, std::uint64_t id, std::int64_t balance, std::uint64_t fence) {
  // Not by database::update(), which would look at the version: nothing but the lock is to be in the way.
  on.execute(fmt::format("UPDATE verify_wallet SET balance = {}, fence = {} WHERE id = {}", balance, fence, id));
}

void persist(odb::database& on, entry one) { on.persist(one); }

}  // namespace dlock::test
