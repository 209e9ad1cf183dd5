// SPDX-License-Identifier: GPL-2.0-or-later
#include "shop.hpp"

#include <fmt/format.h>

namespace flash_sale {
namespace {

book_entry to_entry(const row& columns) {
  return {.order_id = columns.at(0),
          .line = std::stoll(columns.at(1)),
          .sku = columns.at(2),
          .quantity = std::stoll(columns.at(3)),
          .what = columns.at(4) == to_string(outcome::sold) ? outcome::sold : outcome::sold_out};
}

}  // namespace

void shop::open_sale(const std::vector<product>& products) {
  db_->execute("DROP TABLE IF EXISTS product");
  db_->execute("DROP TABLE IF EXISTS order_book");
  db_->execute(
      fmt::format("CREATE TABLE product (sku VARCHAR(64) NOT NULL PRIMARY KEY, name VARCHAR(200) NOT NULL, "
                  "price_cents BIGINT NOT NULL, stock BIGINT NOT NULL, fence BIGINT NOT NULL){}",
                  db_->table_options()));
  db_->execute(
      fmt::format("CREATE TABLE order_book (order_id VARCHAR(64) NOT NULL, line BIGINT NOT NULL, "
                  "customer VARCHAR(200) NOT NULL, sku VARCHAR(64) NOT NULL, quantity BIGINT NOT NULL, "
                  "answer VARCHAR(16) NOT NULL){}",
                  db_->table_options()));
  db_->execute("CREATE INDEX order_book_order_id ON order_book (order_id)");
  transaction all(*db_);
  for (const auto& p : products) {
    db_->execute("INSERT INTO product (sku, name, price_cents, stock, fence) VALUES (?, ?, ?, ?, 0)",
                 {p.sku, p.name, p.price_cents, p.stock});
  }
  all.commit();
}

std::optional<book_entry> shop::find_order(const std::string& id) {
  const auto rows = db_->query("SELECT order_id, line, sku, quantity, answer FROM order_book WHERE order_id = ?", {id});
  if (rows.empty()) return std::nullopt;
  return to_entry(rows.front());
}

std::int64_t shop::stock(const std::string& sku) {
  return std::stoll(db_->query("SELECT stock FROM product WHERE sku = ?", {sku}).at(0).at(0));
}

void shop::book_sale(const order& o, std::int64_t new_stock, std::uint64_t fence) {
  const auto token = static_cast<std::int64_t>(fence);
  transaction both(*db_);
  if (db_->execute("UPDATE product SET stock = ?, fence = ? WHERE sku = ? AND fence <= ?",
                   {new_stock, token, o.sku, token}) == 0) {
    throw stale_write(fmt::format("order {}: a later holder of the lock has written {} already", o.id, o.sku));
  }
  book(o, outcome::sold);
  both.commit();
}

void shop::book_refusal(const order& o) { book(o, outcome::sold_out); }

void shop::book(const order& o, outcome what) {
  db_->execute("INSERT INTO order_book (order_id, line, customer, sku, quantity, answer) VALUES (?, ?, ?, ?, ?, ?)",
               {o.id, o.line, o.customer, o.sku, o.quantity, std::string(to_string(what))});
}

std::map<std::string, std::int64_t> shop::all_stock() {
  std::map<std::string, std::int64_t> stock;
  for (const auto& columns : db_->query("SELECT sku, stock FROM product"))
    stock[columns.at(0)] = std::stoll(columns.at(1));
  return stock;
}

std::vector<book_entry> shop::all_orders() {
  std::vector<book_entry> entries;
  for (const auto& columns : db_->query("SELECT order_id, line, sku, quantity, answer FROM order_book ORDER BY line")) {
    entries.push_back(to_entry(columns));
  }
  return entries;
}

}  // namespace flash_sale
