// SPDX-License-Identifier: BSL-1.0
// Annotations above methods: the interface of a business class says what is locked, and dlock-gen writes the rest.

#include <fmt/core.h>
#include <dlock/dlock.hpp>
#include <dlock/odb/database.hpp>

#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <odb/transaction.hxx>
#include <string>
#include <thread>
#include <vector>

#include "database_shop.hpp"
#include "entities-odb.hxx"
#include "shop_service.locked.hpp"
#include "support/command_line.hpp"
#include "support/database.hpp"
#include "support/process.hpp"

namespace {

constexpr int workers = 4;
constexpr int rounds = 10;
constexpr std::int64_t opening = 1'000;

void open_shop(odb::database& db) {
  support::make_tables(db);
  odb::transaction t(dlock::begin_write(db));
  product only;
  only.id = 42;
  only.stock = workers * rounds;
  db.persist(only);
  for (std::int32_t id = 1; id <= 3; ++id) {
    account opened;
    opened.id = id;
    opened.balance = opening;
    db.persist(opened);
  }
  t.commit();
}

// Runs the work in several threads; the first failure is that of all.
void in_parallel(const std::function<void(int)>& work) {
  std::exception_ptr failed;
  std::mutex mutex;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i != workers; ++i) {
      threads.emplace_back([&, i] {
        try {
          work(i);
        } catch (...) {
          const std::lock_guard guard(mutex);
          failed = std::current_exception();
        }
      });
    }
  }
  if (failed) std::rethrow_exception(failed);
}

bool sales(shop::shop_service& shop, odb::database& db) {
  in_parallel([&](int) {
    for (int i = 0; i != rounds; ++i) shop.sell(42);
  });
  odb::transaction t(db.begin());
  product only;
  db.load(42, only);
  t.commit();
  fmt::print("{} sales by {} threads: stock {}\n", workers * rounds, workers, only.stock);
  return only.stock == 0 && !shop.sell(42);
}

bool transfers(shop::shop_service& shop, odb::database& db) {
  in_parallel([&](int worker) {
    for (int i = 0; i != rounds; ++i) shop.transfer(1 + (worker + i) % 3, 1 + (worker + i + 1) % 3, 10 * i);
  });
  odb::transaction t(db.begin());
  std::int64_t total = 0;
  for (std::int32_t id = 1; id <= 3; ++id) {
    account each;
    db.load(id, each);
    total += each.balance;
  }
  t.commit();
  fmt::print("{} transfers: {} in all accounts, as before\n", workers * rounds, total);
  return total == 3 * opening;
}

bool busy_ones(shop::shop_service& shop, shop::database_shop& inner) {
  std::optional<std::string> closed_meanwhile;
  std::int64_t price_meanwhile = 0;
  inner.meanwhile = [&] {
    const dlock::owner_scope colleague;  // another caller, while we hold the key
    closed_meanwhile = shop.close_day("2026-11-24");
  };
  const auto closed = shop.close_day("2026-11-24");
  inner.meanwhile = [&] {
    const dlock::owner_scope colleague;
    price_meanwhile = shop.price(42);
  };
  const auto price = shop.price(42);
  fmt::print("closing the day: {}; a colleague meanwhile: {}\n", closed.value_or("skipped"),
             closed_meanwhile.value_or("skipped"));
  fmt::print("price: {}; a colleague meanwhile: {}\n", price, price_meanwhile);
  return closed.has_value() && !closed_meanwhile.has_value() && price == 142 && price_meanwhile == 99;
}

bool run(const std::string& url) {
  const auto db = dlock::open_database(url);
  open_shop(*db);
  dlock::lock_service locks{url};
  shop::database_shop inner{*db};
  // [use]
  shop::shop_service_locked shop{inner, locks, *db};  // generated; it is a shop_service
  fmt::print("{}\n", shop.greet(shop::customer(7, "ann")));
  // [/use]
  const bool right = sales(shop, *db) && transfers(shop, *db) && busy_ones(shop, inner) && locks.held() == 0;
  fmt::print("{}\n", right ? "all books balance, every lock is free again" : "WRONG");
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  support::command_line options{"A business class with annotations"};
  std::string url = "sqlite:locks.db";
  options.database(url, support::locks_and_data);
  return options.run(argc, argv, [&] { return run(url) ? 0 : 1; });
}
