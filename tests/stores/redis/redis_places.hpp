// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>
#include <string>

#include "contract/store/store_contract.hpp"
#include "dlock/stores/redis.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"

namespace dlock::test {

/// Locks at a URL, wherever that leads.
class url_place final : public store_place {
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

/// Waits until the server executes commands of its own accord again.
inline void wait_for(const redis_server& server, const std::vector<std::string>& words, const std::string& what) {
  REQUIRE(eventually([&] { return server.ask(words).find(what) != std::string::npos; }));
}

}  // namespace dlock::test
