// SPDX-License-Identifier: BSL-1.0
#include "contract/store_fixture.hpp"
#include "dlock/stores/zookeeper.hpp"
#include "support/zookeeper_server.hpp"

namespace dlock::test {

namespace {

/// A server of its own.
class zookeeper_fixture final : public store_fixture {
 public:
  std::shared_ptr<store> open() override {
    auto opened = open_store(url());
    opened->prepare();
    return opened;
  }
  std::string url() const override { return server.url(); }
  bool counts_grants() const override { return false; }
  bool deletes_free_rows() const override { return true; }
  bool keeps_by_itself() const override { return true; }
  bool forgets_expired() const override { return true; }

  zookeeper_server server{};
};

}  // namespace

std::unique_ptr<store_fixture> make_store_fixture() { return std::make_unique<zookeeper_fixture>(); }

}  // namespace dlock::test
