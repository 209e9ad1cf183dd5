// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "contract/place.hpp"
#include "dlock/store/store_url.hpp"

namespace dlock::test {

/// Locks at a URL, wherever that leads.
class url_place : public store_place {
 public:
  explicit url_place(std::string at) : url_(std::move(at)) {}
  std::shared_ptr<store> open() override {
    auto opened = open_store(url_);
    opened->prepare();
    return opened;
  }
  std::string url() const override { return url_; }

 private:
  const std::string url_;
};

}  // namespace dlock::test
