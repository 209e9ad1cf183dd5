// SPDX-License-Identifier: BSL-1.0

// The examples of docs/shared.md.

#include <shared_mutex>

#include "dlock/dlock.hpp"
#include "dlock/stores/memory.hpp"
#include "support/test.hpp"

namespace {

using namespace std::chrono_literals;

struct shop {
  int read = 0, written = 0, sent = 0;
  void show() { ++read; }
  void change() { ++written; }
  void send() { ++sent; }
};

// [shared]
void work(dlock::lock_service& locks, shop& it) {
  // Many processes may read the catalogue at the same time; one changes it, while nobody reads.
  locks.with_lock("catalogue", {.mode = dlock::shared}, [&] { it.show(); });
  locks.with_lock("catalogue", [&] { it.change(); });

  // At most ten calls of the mail server at a time, of all processes together.
  locks.with_lock("mail-api", {.wait = 5s, .mode = dlock::one_of(10)}, [&] { it.send(); });
}
// [/shared]

// [standard]
void in_the_standards_words(dlock::lock_service& locks, shop& it) {
  dlock::distributed_shared_mutex door{locks, "catalogue"};
  {
    std::shared_lock reading{door};
    it.show();
  }
  std::unique_lock writing{door};
  it.change();

  dlock::distributed_semaphore calls{locks, "mail-api", 10};
  calls.acquire();
  it.send();
  calls.release();
}
// [/standard]

// [downgrade]
void change_and_check(dlock::lock_service& locks, shop& it) {
  auto held = locks.acquire("catalogue");
  it.change();
  held.downgrade();  // others may read now, and no process has changed it in between
  it.show();
}
// [/downgrade]

TEST_CASE("docs: shared locks and permits") {
  dlock::stores::virtual_clock clock;
  dlock::lock_service locks{std::make_shared<dlock::stores::memory_store>(clock), {.time = &clock}};
  shop it;
  work(locks, it);
  in_the_standards_words(locks, it);
  change_and_check(locks, it);
  CHECK(it.read == 3);
  CHECK(it.written == 3);
  CHECK(it.sent == 2);
}

}  // namespace
