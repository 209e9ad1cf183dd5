// SPDX-License-Identifier: BSL-1.0
#include "order_desk.hpp"

#include <dlock/key.hpp>
#include <dlock/macros.hpp>
#include <thread>

namespace flash_sale {

// [serve]
static outcome sell(shop& books, const order& o, const sale_rules& rules, const dlock::lease* held) {
  const auto [before, stock] = books.look_up(o);
  if (before) {
    // The same line again: its worker died, or lost its connection, after the commit. Another line: clicked twice.
    return before->line == o.line ? before->what : outcome::duplicate;
  }
  if (stock < o.quantity) {
    books.book_refusal(o);
    return outcome::sold_out;
  }
  std::this_thread::sleep_for(rules.think);  // the payment service answers
  if (held != nullptr) held->ensure_held();  // this process may have stood still for longer than the lease
  books.book_sale(o, stock - o.quantity, held != nullptr ? held->fencing_token() : 0);
  return outcome::sold;
}

outcome serve(shop& books, const order& o, const sale_rules& rules, const std::function<void()>& begun) {
  if (!rules.locked) {
    begun();
    return sell(books, o, rules, nullptr);
  }
  DISTRIBUTED_LOCKED_AS(held, dlock::key<"stock:{o.sku}">(o), rules.lock) {
    begun();  // for the figures; in here the demo stops the worker that it kills
    return sell(books, o, rules, &held);
  }
}
// [/serve]

}  // namespace flash_sale
