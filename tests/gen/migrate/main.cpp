// SPDX-License-Identifier: BSL-1.0
// Prints what Main.java prints.
#include <dlock/dlock.hpp>

#include <cstdio>
#include <memory>
#include <string>

#include "dlock/stores/memory.hpp"
#include "order_service.locked.hpp"

namespace {

void print_held(const char* function, dlock::lock_service& locks) {
  std::string all;
  for (const auto& each : locks.held_keys()) all += " " + each.key;
  std::printf("%s holds%s\n", function, all.c_str());
}

class shop final : public order_service {
 public:
  explicit shop(dlock::lock_service& locks) : locks_(locks) {}
  receipt place(const order& o, const user&) override {
    print_held("place", locks_);
    return {o.id + 1};
  }
  void expire(std::int64_t) override { print_held("expire", locks_); }

 private:
  dlock::lock_service& locks_;
};

}  // namespace

int main() {
  const auto store = std::make_shared<dlock::stores::memory_store>();
  dlock::lock_service locks{store};
  dlock::lock_service another{store};
  shop inner(locks);
  order_service_locked orders(inner, locks);

  std::printf("receipt %d\n", static_cast<int>(orders.place({42}, {"ann"}).number));
  orders.expire(7);
  {
    const auto theirs = another.acquire("order:42:ann");
    try {
      orders.place({42}, {"ann"});  // waits for 2 s
    } catch (const dlock::lock_timeout&) {
      std::puts("place is busy");
    }
  }
  {
    const auto theirs = another.acquire("order:7");
    orders.expire(7);
  }
  std::printf("held at the end: %d\n", static_cast<int>(locks.held_keys().size()));
}
