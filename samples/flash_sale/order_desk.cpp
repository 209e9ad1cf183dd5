// SPDX-License-Identifier: GPL-2.0-or-later
#include "order_desk.hpp"

#include <dlock/key.hpp>
#include <dlock/macros.hpp>
#include <thread>

namespace flash_sale {

// [serve]
void order_desk::serve(const order& o) {
  const auto asked = std::chrono::steady_clock::now();
  const auto waited = [asked] {
    return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - asked);
  };
  if (!options_.locked) {
    listener_.entered(o, waited());
    listener_.answered(o, sell(o, nullptr));
    return;
  }
  DISTRIBUTED_LOCKED_AS(held, dlock::key<"stock:{o.sku}">(o), options_.lock) {
    listener_.entered(o, waited());
    listener_.answered(o, sell(o, &held));
  }
}

outcome order_desk::sell(const order& o, const dlock::lease* held) {
  const auto [before, stock] = shop_.look_up(o);
  if (before) {
    // The same line again: its worker died, or lost its connection, after the commit. Another line: clicked twice.
    return before->line == o.line ? before->what : outcome::duplicate;
  }
  if (stock < o.quantity) {
    shop_.book_refusal(o);
    return outcome::sold_out;
  }
  std::this_thread::sleep_for(options_.think);  // the payment service answers
  if (held != nullptr) held->ensure_held();     // this process may have stood still for longer than the lease
  shop_.book_sale(o, stock - o.quantity, held != nullptr ? held->fencing_token() : 0);
  return outcome::sold;
}
// [/serve]

}  // namespace flash_sale
