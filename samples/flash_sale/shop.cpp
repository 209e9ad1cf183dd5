// SPDX-License-Identifier: GPL-2.0-or-later
#include "shop.hpp"

#include <fmt/format.h>
#include <dlock/odb/database.hpp>
#include <odb/sqlite/connection.hxx>
#include <odb/transaction.hxx>
#include <thread>

#include "entities-odb.hxx"
#include "support/database.hpp"

namespace flash_sale {
namespace {

/// SQLite's own busy handler soon sleeps 100 ms at a time, ages for writes that take a fraction of a millisecond.
int wait_a_little(void*, int tries) {
  std::this_thread::sleep_for(std::chrono::microseconds{500});
  return tries < 20'000 ? 1 : 0;
}

/// The query that `make` makes of a text, prepared once for each connection.
template <class Entity, class Make>
odb::prepared_query<Entity> prepared(odb::connection& on, const char* name, const std::string& text, Make make) {
  std::string* parameter = nullptr;
  auto query = on.lookup_query<Entity>(name, parameter);
  if (!query) {
    auto kept = std::make_unique<std::string>();
    parameter = kept.get();
    query = on.prepare_query<Entity>(name, make(*kept));
    on.cache_query(query, std::move(kept));
  }
  *parameter = text;
  return query;
}

void book(odb::database& db, const order& o, outcome what) {
  book_entry entry{o.id, o.line, o.customer, o.sku, o.quantity, what};
  db.persist(entry);
}

}  // namespace

shop::shop(std::string_view url) : db_(dlock::open_database(url)) {
  if (db_->id() != odb::id_sqlite) return;
  const auto connection = db_->connection();  // one thread has one connection, so this is the one that it goes on with
  connection->execute("PRAGMA journal_mode=WAL");
  ::sqlite3_busy_handler(static_cast<odb::sqlite::connection&>(*connection).handle(), wait_a_little, nullptr);
}

void shop::open_sale(const std::vector<product>& products) {
  support::make_tables(*db_);
  odb::transaction t(dlock::begin_write(*db_));
  for (product each : products) db_->persist(each);
  t.commit();
}

shop::standing shop::look_up(const order& o) {
  standing now;
  book_entry before;
  product p;
  odb::transaction t(db_->begin());
  const auto by_order_id = [](const std::string& id) {
    return (odb::query<book_entry>::order_id == odb::query<book_entry>::_ref(id)) + "LIMIT 1";
  };
  if (prepared<book_entry>(t.connection(), "by_order_id", o.id, by_order_id).execute_one(before)) now.before = before;
  db_->load(o.sku, p);
  now.stock = p.stock;
  t.commit();
  return now;
}

void shop::book_sale(const order& o, std::int64_t new_stock, std::uint64_t fence) {
  const auto token = static_cast<std::int64_t>(fence);
  product p;
  odb::transaction t(dlock::begin_write(*db_));
  // From here to the commit nobody else writes the product: on SQLite nobody else writes at all.
  if (db_->id() == odb::id_sqlite) {
    db_->load(o.sku, p);
  } else {
    const auto locked = [](const std::string& sku) {
      return (odb::query<product>::sku == odb::query<product>::_ref(sku)) + "FOR UPDATE";
    };
    prepared<product>(t.connection(), "locked", o.sku, locked).execute_one(p);
  }
  if (p.fence > token) {
    throw stale_write(fmt::format("order {}: a later holder of the lock has written {} already", o.id, o.sku));
  }
  p.stock = new_stock;
  p.fence = token;
  db_->update(p);
  book(*db_, o, outcome::sold);
  t.commit();
}

void shop::book_refusal(const order& o) {
  odb::transaction t(dlock::begin_write(*db_));
  book(*db_, o, outcome::sold_out);
  t.commit();
}

std::map<std::string, std::int64_t> shop::all_stock() {
  odb::transaction t(db_->begin());
  std::map<std::string, std::int64_t> stock;
  for (const product& each : db_->query<product>()) stock[each.sku] = each.stock;
  t.commit();
  return stock;
}

std::vector<book_entry> shop::all_orders() {
  odb::transaction t(db_->begin());
  std::vector<book_entry> entries;
  for (const book_entry& each : db_->query<book_entry>()) entries.push_back(each);
  t.commit();
  return entries;
}

}  // namespace flash_sale
