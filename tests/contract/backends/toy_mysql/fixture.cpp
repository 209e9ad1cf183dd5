// SPDX-License-Identifier: BSL-1.0
#include "contract/backends/toy_mysql/toy_mysql_store.hpp"
#include "contract/store/store_contract.hpp"
#include "support/mysql_fixture.hpp"

namespace dlock::test {

namespace {

class toy_fixture final : public store_fixture {
 public:
  ~toy_fixture() override { raw_mysql(owner_).run("DROP TABLE IF EXISTS " + table_); }

  std::shared_ptr<store> open() override {
    auto store = std::make_shared<toy_mysql_store>(store_url::parse(owner_), table_);
    store->prepare();
    return store;
  }
  bool may_be_contended() const override { return true; }

 private:
  const std::string owner_ = mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL");
  const std::string table_ = "toy_" + id128::random().hex();
};

}  // namespace

std::unique_ptr<store_fixture> make_store_fixture() { return std::make_unique<toy_fixture>(); }

}  // namespace dlock::test
