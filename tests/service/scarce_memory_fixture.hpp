// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <new>

#include "service/engine_fixture.hpp"
#include "support/scarce_memory.hpp"
#include "support/test.hpp"

namespace dlock::test {

/// Another store, which always has memory: what a store does without is its own matter.
class ample_store final : public store {
 public:
  explicit ample_store(std::shared_ptr<store> inner) : inner_(std::move(inner)) {}

  const std::string& name() const noexcept override { return inner_->name(); }
  capabilities caps() const noexcept override { return inner_->caps(); }
  void prepare() override { inner_->prepare(); }
  std::unique_ptr<connection> connect(microseconds limit, fault& why) noexcept override {
    return inner_->connect(limit, why);
  }
  void execute(connection& connection, std::span<const request> requests, std::span<reply> replies) noexcept override {
    const ample_memory here;
    inner_->execute(connection, requests, replies);
  }
  reply session(connection& connection, session_verb action, const session_record& record) noexcept override {
    const ample_memory here;
    return inner_->session(connection, action, record);
  }
  bool terminate(connection& connection, const connection_identity& lost) noexcept override {
    const ample_memory here;
    return inner_->terminate(connection, lost);
  }

 private:
  const std::shared_ptr<store> inner_;
};

struct memory_fixture : engine_fixture {
  std::unique_ptr<lock_service> locks = std::make_unique<lock_service>(std::make_shared<ample_store>(store), options());
  const lease other = locks->acquire("another key, by which the session stays");

  static std::string key(const std::string& name, std::size_t number) {
    return "a key whose text is too long to be kept in place: " + name + " " + std::to_string(number);
  }

  /// Calls `act` again and again, each time with one allocation more before memory runs out, until there is enough;
  /// after each but the last one `then`. Both get the number.
  static void without_memory(const std::function<void(std::size_t)>& before,
                             const std::function<void(std::size_t)>& act,
                             const std::function<void(std::size_t)>& then) {
    for (std::size_t number = 0;; ++number) {
      REQUIRE(number < 1000);
      INFO("allocation " << number);
      before(number);
      bool ran_out = false;
      {
        const scarce_memory scarce(number);
        try {
          act(number);
        } catch (const std::bad_alloc&) {
        } catch (const error&) {
        }
        ran_out = scarce.ran_out();
      }
      then(number);
      if (!ran_out) return;
    }
  }

  /// Soon enough, and by this process too.
  void check_free(const std::string& name) {
    REQUIRE(clock.at_rest());
    clock.advance(600ms);  // a beat of the background
    REQUIRE(clock.at_rest());
    CHECK(is_free(name));
    CHECK(locks->try_acquire(name));
    CHECK_FALSE(other.lost_token().stop_requested());
  }
};

}  // namespace dlock::test
