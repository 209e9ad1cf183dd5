// SPDX-License-Identifier: BSL-1.0

/// What Neighbour.java does, by dlock. Arguments: the store's URL, a URL for the witness, its table, and ids of
/// requests that it serves with others. It works until it is killed, and says each visit to the witness.

#include <fmt/format.h>

#include <random>
#include <string>
#include <thread>
#include <vector>

#include "dlock/lock_service.hpp"
#include "dlock/owner.hpp"
#include "dlock/stores/mysql.hpp"
#include "process/helper_program.hpp"
#include "support/mysql_fixture.hpp"

namespace {

using namespace std::chrono_literals;

constexpr auto clock_us = "TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))";

struct worker {
  worker(const std::string& store, const std::string& witness_url, std::string witness_table,
         std::vector<std::string> requests)
      : locks(store), client(witness_url), witness(std::move(witness_table)), shared(std::move(requests)) {}

  void visit() {
    const bool as_request = random() % 2 == 0;
    const auto me = as_request ? shared[random() % shared.size()] : dlock::id128::random().hex();
    const dlock::owner_scope here{as_request ? dlock::owner{me} : dlock::owner{}};
    const auto key = fmt::format("k{}", random() % 2);
    const auto how = as_request ? dlock::renewal::none : renewal();
    // Not longer than the other programs of the request lock.
    const auto ttl = as_request ? 1200ms : 1700ms;
    const auto held = locks.acquire(key, {.ttl = ttl, .wait = 2s, .renewal = how});
    const auto nested = random() % 4 == 0 ? locks.acquire(key, {.ttl = ttl, .renewal = how}) : dlock::lease{};
    if (held.remaining() < 700ms) return;
    const bool alone = client.run(fmt::format("UPDATE {0} SET inside=IF(holder='{1}' AND until_us>={2}, inside, 0)+1, "
                                              "holder='{1}', until_us={2}+300000 WHERE k='{3}' AND (holder IN ('', "
                                              "'{1}') OR until_us<{2})",
                                              witness, me, clock_us, key)) == 1;
    const std::string visit = as_request ? "visit dlock-shared" : "visit dlock";
    dlock::test::say("{}", alone ? visit : "overlap dlock " + key);
    std::this_thread::sleep_for(std::chrono::milliseconds{1 + random() % 40});
    client.run(
        fmt::format("UPDATE {} SET holder=IF(inside>1, holder, ''), inside=inside-1 WHERE k='{}' AND "
                    "holder='{}' AND inside>0",
                    witness, key, me));
  }
  dlock::renewal renewal() { return random() % 2 == 0 ? dlock::renewal::automatic : dlock::renewal::none; }

  dlock::lock_service locks;
  dlock::test::raw_mysql client;
  const std::string witness;
  const std::vector<std::string> shared;
  std::mt19937 random{std::random_device{}()};
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  return dlock::test::helper_main([&] {
    worker self(argv[1], argv[2], argv[3], {argv + 4, argv + argc});
    dlock::test::say("ready");
    for (;;) {
      try {
        self.visit();
      } catch (const dlock::lock_timeout&) {
        // The neighbours are quick; it goes on.
      } catch (const dlock::error& e) {
        dlock::test::say("error {}", e.what());
      }
    }
  });
}
