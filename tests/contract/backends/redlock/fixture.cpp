// SPDX-License-Identifier: BSL-1.0
#include "contract/store_fixture.hpp"
#include "dlock/stores/redlock.hpp"
#include "support/redis_masters.hpp"

namespace dlock::test {

namespace {

/// Started once for all test cases of a program.
redis_masters& masters() {
  static redis_masters five;
  return five;
}

class redlock_fixture final : public store_fixture {
 public:
  ~redlock_fixture() override {
    for (auto& each : masters()) each.ask({"FLUSHALL"});
  }

  std::shared_ptr<store> open() override {
    auto opened = open_store(url());
    opened->prepare();
    return opened;
  }
  // The masters are new, and a busy machine is no slow master.
  std::string url() const override { return masters().url("&restart_delay=0&master_timeout=5000"); }
  // Masters are waited for no longer than half of the ttl.
  std::chrono::microseconds moments() const override { return std::chrono::seconds{1}; }
  bool counts_grants() const override { return false; }
  bool deletes_free_rows() const override { return true; }
  bool forgets_expired() const override { return true; }
  bool votes_may_split() const override { return true; }
};

}  // namespace

std::unique_ptr<store_fixture> make_store_fixture() { return std::make_unique<redlock_fixture>(); }

}  // namespace dlock::test
