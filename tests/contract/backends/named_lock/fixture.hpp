// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <string>

#include "contract/store_fixture.hpp"
#include "dlock/stores/mysql_named_lock.hpp"
#include "support/mysql_fixture.hpp"

namespace dlock::test {

/// Names that begin with a prefix of their own.
class named_lock_fixture final : public store_fixture {
 public:
  std::shared_ptr<store> open() override {
    auto store = open_store(url());
    store->prepare();
    return store;
  }
  std::string url() const override {
    return owner_ + (owner_.find('?') == std::string::npos ? "?" : "&") + "scheme=named_lock&prefix=" + prefix_;
  }
  bool hides_holders() const override { return true; }
  std::chrono::microseconds rounding() const override { return std::chrono::seconds{1}; }
  bool deletes_free_rows() const override { return true; }
  const std::string& prefix() const noexcept { return prefix_; }

 private:
  const std::string owner_ = mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL");
  const std::string prefix_ = id128::random().hex().substr(0, 16) + ":";
};

}  // namespace dlock::test
