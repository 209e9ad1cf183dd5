// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "contract/store_fixture.hpp"
#include "dlock/store_interface/store_url.hpp"

namespace dlock::test {

/// Locks at a URL, wherever that leads. A class derived from it may have another URL each time.
class url_fixture : public store_fixture {
 public:
  explicit url_fixture(std::string at = {}) : url_(std::move(at)) {}
  std::shared_ptr<store> open() override {
    auto opened = open_store(url());
    opened->prepare();
    return opened;
  }
  std::string url() const override { return url_; }

 private:
  const std::string url_;
};

}  // namespace dlock::test
