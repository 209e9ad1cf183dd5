// SPDX-License-Identifier: GPL-2.0-or-later

/// What Neighbour.java does, by dlock. Arguments: the store's URL, a URL for the witness, its table. It works until it is
/// killed, and says each visit to the witness.

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <random>
#include <string>
#include <thread>

#include "dlock/lock_service.hpp"
#include "dlock/stores/mysql.hpp"
#include "support/mysql_place.hpp"

namespace {

using namespace std::chrono_literals;

constexpr auto clock_us = "TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))";

struct worker {
  worker(const std::string& store, const std::string& witness_url, std::string witness_table)
      : locks(store), client(witness_url), witness(std::move(witness_table)) {}

  void visit() {
    const auto key = fmt::format("k{}", random() % 2);
    const auto held = locks.acquire(key, {.ttl = 1500ms, .wait = 2s, .renewal = renewal()});
    const auto nested = random() % 4 == 0 ? locks.acquire(key, {.ttl = 1500ms, .renewal = last}) : dlock::lease{};
    if (held.remaining() < 700ms) return;
    const bool alone =
        client.run(fmt::format("UPDATE {0} SET holder='{1}', until_us={2}+300000 WHERE k='{3}' AND (holder='' OR "
                               "until_us<{2})",
                               witness, me, clock_us, key)) == 1;
    std::puts(alone ? "visit dlock" : ("overlap dlock " + key).c_str());
    std::this_thread::sleep_for(std::chrono::milliseconds{1 + random() % 40});
    client.run(fmt::format("UPDATE {} SET holder='' WHERE k='{}' AND holder='{}'", witness, key, me));
  }
  dlock::renewal renewal() { return last = random() % 2 == 0 ? dlock::renewal::automatic : dlock::renewal::none; }

  dlock::lock_service locks;
  dlock::test::raw_mysql client;
  const std::string witness;
  const std::string me = dlock::id128::random().hex();
  std::mt19937 random{std::random_device{}()};
  dlock::renewal last = dlock::renewal::none;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  try {
    worker self(argv[1], argv[2], argv[3]);
    std::puts("ready");
    for (;;) {
      try {
        self.visit();
      } catch (const dlock::lock_timeout&) {
        // The neighbours are quick; it goes on.
      } catch (const dlock::error& e) {
        std::puts(fmt::format("error {}", e.what()).c_str());
      }
    }
  } catch (const std::exception& e) {
    std::puts(fmt::format("error {}", e.what()).c_str());
  }
  return 1;
}
