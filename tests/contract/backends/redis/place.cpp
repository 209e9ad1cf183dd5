// SPDX-License-Identifier: BSL-1.0
#include "contract/place.hpp"
#include "dlock/stores/redis.hpp"
#include "support/redis_server.hpp"

namespace dlock::test {

namespace {

/// A server of its own.
class redis_place final : public store_place {
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

std::unique_ptr<store_place> make_store_place() { return std::make_unique<redis_place>(); }

}  // namespace dlock::test
