// SPDX-License-Identifier: BSL-1.0

// What README.md shows compiles with one header of dlock's and none of the standard library's. Never run.

#include <dlock/dlock.hpp>

namespace {

using namespace std::chrono_literals;

struct order {
  int id;
  std::string customer;
};

int ship(const order& o) { return o.id; }

}  // namespace

namespace dlock::test {

int use_one_header(const std::string& url);
int use_one_header(const std::string& url) {
  lock_service locks{url};
  const order o{42, "ann"};
  int shipped = locks.with_lock("stock:42", {.ttl = 10s, .wait = 20s}, [](const lease& held) {
    std::this_thread::sleep_for(2ms);
    held.ensure_held();
    return 1;
  });
  DISTRIBUTED_LOCKED_AS(held, key<"order:{o.id}:{o.customer}">(o), {.ttl = 30s, .wait = 0s}) { shipped += ship(o); }
  DISTRIBUTED_TRY_LOCKED("report:daily") { shipped += ship(o); }
  const auto ship_locked = locks.locked<"order:{o.id}:{o.customer}", "o">([](const order& it) { return ship(it); });
  shipped += ship_locked(o);
  const auto both = locks.acquire_all({key<"wallet:{name}">(o.customer), "wallet:bob"}, {.ttl = 2s, .wait = 30s});
  distributed_mutex door{locks, "warehouse:7"};
  std::lock_guard guard{door};
  return shipped + static_cast<int>(both.size());
}

}  // namespace dlock::test
