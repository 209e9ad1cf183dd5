// SPDX-License-Identifier: BSL-1.0
#include "contract/store_fixture.hpp"
#include "dlock/stores/redis.hpp"
#include "support/redis_server.hpp"

namespace dlock::test {

namespace {

/// A server of its own.
class redis_fixture final : public store_fixture {
 public:
  std::shared_ptr<store> open() override {
    auto opened = open_store(url());
    opened->prepare();
    return opened;
  }
  // The contract counts tokens from 1.
  std::string url() const override { return server.url("&fences=count"); }

  redis_server server{};
};

}  // namespace

std::unique_ptr<store_fixture> make_store_fixture() { return std::make_unique<redis_fixture>(); }

}  // namespace dlock::test
