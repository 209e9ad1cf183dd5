// SPDX-License-Identifier: BSL-1.0

/// Several processes with one lock file. A child is forked while this process has no connection open, and leaves by
/// _exit() or SIGKILL.

#include "contract/backends/sqlite/file_fixture.hpp"
#include "support/forked_child.hpp"
#include "support/raw_sqlite.hpp"

using namespace dlock;
using namespace dlock::test;

namespace {

/// What actor is to a test, without assertions: for children, whose failures are exceptions.
struct worker {
  explicit worker(store_fixture& fixture, microseconds ttl) : store(fixture.open()) {
    fault why;
    connection = store->connect(10s, why);
    if (!connection || store->session(*connection, session_verb::open, {.id = id, .ttl = ttl}).result != outcome::yes)
      throw why;
  }

  std::uint64_t acquire(std::string_view key) {
    for (;;) {
      const reply taken = run({.action = verb::take, .resource = key, .session = id, .nonce = ++nonce});
      if (taken.result == outcome::yes) return taken.fence;
      if (taken.result != outcome::no && !taken.why.contended) throw taken.why;
      std::this_thread::yield();
    }
  }
  void release(std::string_view key, std::uint64_t fence) {
    reply freed;
    do {  // on a machine that stands still the others may have had the file for all of its time
      freed = run({.action = verb::release, .resource = key, .session = id, .fence = fence});
    } while (freed.why.contended);
    if (freed.result != outcome::yes) throw freed.why;
  }
  reply run(const request& q) {
    reply r;
    store->execute(*connection, {&q, 1}, {&r, 1});
    return r;
  }

  std::shared_ptr<dlock::store> store;
  std::unique_ptr<dlock::connection> connection;
  id128 id = id128::random();
  std::uint64_t nonce = 0;
};

void make_key(store_fixture& fixture, std::string_view key) {
  actor first(fixture);
  REQUIRE(first.acquire(key) == 1);
  REQUIRE(answer(first.release(key, 1)) == outcome::yes);
}

}  // namespace

TEST_CASE("sqlite processes: writers killed at any moment leave a sound file and grantable keys") {
  sqlite_file_fixture fixture;
  make_key(fixture, "k");
  std::uint64_t last = 1;
  for (int round = 0; round < 8; ++round) {
    forked_child writer([&](auto send) {
      worker w(fixture, 50ms);
      for (;;) {
        const auto fence = w.acquire("k");
        send(fence);
        w.release("k", fence);
      }
    });
    std::uint64_t fence = 0;
    for (int i = 0; i < 5 + round; ++i) REQUIRE(writer.read(fence));
    writer.kill();
    while (writer.read(fence)) continue;  // what it had still sent

    actor next(fixture);
    pass_until(fixture, [&] {
      const seen now = next.at("k");
      if (now.holder) next.kill(now.holder);
      return !now.holder || (now.gone && answer(next.take_over("k", now)) == outcome::yes);
    });
    const seen now = next.at("k");
    CHECK(now.fence >= fence);  // no grant that was reported is forgotten
    CHECK(now.fence > last);
    last = now.fence;
    if (now.holder) REQUIRE(answer(next.release("k", now.fence)) == outcome::yes);
  }
  CHECK(raw_sqlite(fixture.path).text("PRAGMA integrity_check") == "ok");
}
