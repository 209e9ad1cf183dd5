// SPDX-License-Identifier: BSL-1.0
#include "shop.hpp"

#include <dlock/dlock.hpp>

namespace shop {

using namespace std::chrono_literals;

static orders& other_orders() {
  static orders all;
  return all;
}
static void book_all(ledger& books, std::int64_t id) { books.book(id); }

void orders::place(std::int64_t id, ledger& books) {
  book_all(books, id);
  audit(id);
  other_orders().note(id);  // makes one attempt, so it never waits for report()
}
void orders::close(std::int64_t) {}
void orders::note(std::int64_t) {}
void orders::audit(std::int64_t id) {
  const auto held = dlock::default_service().acquire(dlock::key<"audit:{id}">(id));
}

void ledger::book(std::int64_t) {}
void ledger::settle(std::int64_t id, orders& open) {
  const auto later = [&] { open.close(id); };
  later();
}
void ledger::twice() { book(main()); }

// Holds "printer" and, by settle(), takes an account.
void printed_ledger::book(std::int64_t id) {
  DISTRIBUTED_LOCKED("printer", {.wait = 2s}) { ledger::book(id); }
}

void by_hand(dlock::lock_service& locks, ledger& books) {
  DISTRIBUTED_LOCKED({"printer", "paper"}) { books.settle(1, *static_cast<orders*>(nullptr)); }
  locks.with_lock("order:42", [] {});
  const auto close = locks.locked_or_skip<"order:{id}", "id">([](std::int64_t) {});
  close(3);
  const std::string name = "computed";
  const auto held = locks.try_acquire(name);
}

void report(orders& open, const std::string&) { open.close(1); }

}  // namespace shop
