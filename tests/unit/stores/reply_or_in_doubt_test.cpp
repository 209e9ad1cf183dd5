// SPDX-License-Identifier: BSL-1.0
#include "stores/reply_or_in_doubt.hpp"

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <new>

using namespace dlock;

namespace {

class plain_connection final : public connection {
 public:
  void interrupt() noexcept override { usable_ = false; }
  bool usable() const noexcept override { return usable_; }
  const connection_identity& identity() const noexcept override { return identity_; }

 private:
  bool usable_ = true;
  connection_identity identity_{};
};

}  // namespace

TEST_CASE("reply_or_in_doubt: without memory a verb is in doubt, and nobody goes on with its connection", "[unit]") {
  plain_connection on;
  std::array<reply, 2> replies{};
  stores::reply_or_in_doubt(on, replies, [&] {
    replies[0].result = outcome::yes;
    throw std::bad_alloc();
  });
  for (const auto& each : replies) {
    CHECK(each.result == outcome::unknown);
    CHECK(each.why.transient);
    CHECK(each.why.connection);
  }
  CHECK_FALSE(on.usable());
}

TEST_CASE("reply_or_in_doubt: what a verb answers stays, and so does its connection", "[unit]") {
  plain_connection on;
  CHECK(stores::reply_or_in_doubt(on, [] { return reply{.result = outcome::no}; }).result == outcome::no);
  CHECK(on.usable());
}
