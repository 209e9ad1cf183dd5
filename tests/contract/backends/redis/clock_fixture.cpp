// SPDX-License-Identifier: BSL-1.0
#include "contract/store_fixture.hpp"
#include "dlock/stores/redis.hpp"
#include "support/redis_server.hpp"

namespace dlock::test {

namespace {

/// As URLs are by default: tokens come from the server's clock.
class redis_clock_fixture final : public store_fixture {
 public:
  std::shared_ptr<store> open() override {
    auto opened = open_store(url());
    opened->prepare();
    return opened;
  }
  std::string url() const override { return server.url(); }
  bool counts_grants() const override { return false; }

  redis_server server{};
};

}  // namespace

std::unique_ptr<store_fixture> make_store_fixture() { return std::make_unique<redis_clock_fixture>(); }

}  // namespace dlock::test
