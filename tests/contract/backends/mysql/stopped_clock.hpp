// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "stores/mysql/on_connection.hpp"
#include "support/forwarding_store.hpp"

namespace dlock::test {

/// The server's clock, as it is told to the connections of some stores.
class server_clock {
 public:
  /// It stands still for stores that are opened from now on: years from now, so that no other clock does for it.
  void stop() { now_ = 2'000'000'000'000'000; }
  void pass(microseconds time) {
    if (now_ == 0) std::this_thread::sleep_for(time);
    if (now_ != 0) now_ += time.count();
  }
  std::shared_ptr<store> given_to(std::shared_ptr<store> opened) const {
    return now_ == 0 ? std::move(opened) : std::make_shared<told>(std::move(opened), *this);
  }

 private:
  class told final : public forwarding_store {
   public:
    told(std::shared_ptr<store> inner, const server_clock& clock) : forwarding_store(std::move(inner)), clock_(clock) {}
    void execute(connection& by, std::span<const request> requests, std::span<reply> replies) noexcept override {
      tell(by);
      inner().execute(by, requests, replies);
    }
    reply session(connection& by, session_verb action, const session_record& record) noexcept override {
      tell(by);
      return inner().session(by, action, record);
    }

   private:
    void tell(connection& on) const {
      const auto digits = std::to_string(clock_.now_);
      run_on(on, "SET timestamp=" + digits.substr(0, 10) + "." + digits.substr(10));
    }
    const server_clock& clock_;
  };

  std::atomic<std::int64_t> now_{0};  // microseconds since 1970; 0: as it goes
};

}  // namespace dlock::test
