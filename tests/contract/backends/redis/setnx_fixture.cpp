// SPDX-License-Identifier: BSL-1.0
#include "contract/store_fixture.hpp"
#include "dlock/stores/redis.hpp"
#include "support/redis_server.hpp"

namespace dlock::test {

namespace {

class setnx_fixture final : public store_fixture {
 public:
  std::shared_ptr<store> open() override {
    auto opened = open_store(url());
    opened->prepare();
    return opened;
  }
  std::string url() const override { return server.url("&scheme=setnx"); }
  bool counts_grants() const override { return false; }
  bool deletes_free_rows() const override { return true; }
  bool forgets_expired() const override { return true; }

  redis_server server{};
};

}  // namespace

std::unique_ptr<store_fixture> make_store_fixture() { return std::make_unique<setnx_fixture>(); }

}  // namespace dlock::test
