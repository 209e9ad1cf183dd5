// SPDX-License-Identifier: BSL-1.0
#include "shop.hpp"

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

void book(odb::database& db, const order& o, outcome outcome) {
  book_entry entry{o.id, o.line, o.customer, o.sku, o.quantity, outcome};
  db.persist(entry);
}

template <class Entity>
std::vector<Entity> all(odb::database& db) {
  odb::transaction t(db.begin());
  auto found = db.query<Entity>();
  std::vector<Entity> entities(found.begin(), found.end());
  t.commit();
  return entities;
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
  if (db_->query_one<book_entry>((odb::query<book_entry>::order_id == o.id) + "LIMIT 1", before)) now.before = before;
  db_->load(o.sku, p);
  t.commit();
  now.stock = p.stock;
  return now;
}

void shop::book_sale(const order& o, std::int64_t new_stock, std::uint64_t fence) {
  const auto token = static_cast<std::int64_t>(fence);
  product p;
  odb::transaction t(dlock::begin_write(*db_));
  // From here to the commit nobody else writes the product: on SQLite nobody else writes at all.
  const auto* const locked = db_->id() == odb::id_sqlite ? "" : "FOR UPDATE";
  db_->query_one<product>((odb::query<product>::sku == o.sku) + locked, p);
  if (p.fence > token) throw stale_write("order " + o.id + ": a later holder of the lock has written " + o.sku);
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

std::vector<product> shop::all_products() { return all<product>(*db_); }

std::vector<book_entry> shop::all_orders() { return all<book_entry>(*db_); }

}  // namespace flash_sale
