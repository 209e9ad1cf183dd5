// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "engine/operations/acquisition.hpp"
#include "engine/operations/release_operation.hpp"
#include "service/engine_fixture.hpp"
#include "service/toy_async_driver.hpp"

namespace dlock::test {

/// A service whose operations are run without threads that wait for them.
struct async_fixture : engine_fixture {
  inside home = core(few_connections());
  toy_async_driver::list drivers{};

  ~async_fixture() {
    home.close(0ms);
    settle();
    home.finish();
  }
  /// Of which takes use one at a time.
  service_options few_connections() {
    auto how = options();
    how.connections = 2;
    return how;
  }
  /// Until nothing goes on before time moves.
  void settle(const stores::virtual_clock::known& but = {}) {
    do REQUIRE(clock.at_rest(but));
    while (toy_async_driver::pump(drivers));
  }
};

/// A lock that a task takes and releases: an owner of its own, and no thread. It may end while it waits, not while a
/// statement is under way.
class async_lock {
 public:
  async_lock(async_fixture& in, lock_key key, detail::lock_settings terms = {},
             const engine::lock_request::patience& how = {})
      : parts_(in.home.core()->all()),
        clock_(in.clock),
        key_(std::move(key)),
        terms_(std::move(terms)),
        call_(std::in_place, *in.home.core()),
        driver_(in.drivers, parts_, in.home.core()->closing().get_token(), terms_.cancel) {
    const owner_scope myself;
    acquire_.emplace(parts_, key_, engine::lock_request(terms_, engine::current_owner(), true, clock_.now(), how),
                     driver_);
  }
  /// Returns at once, as release() does.
  void acquire(std::function<void()> then = {}) {
    driver_.run(*acquire_, [this, then = std::move(then)](const std::exception_ptr& failure) {
      end_ = thrown([&] { take_result(failure); });
      call_.reset();
      acquired_on = std::this_thread::get_id();
      over_ = true;
      if (then) then();
    });
  }
  void release() {
    last_.front().of = held_;
    last_.front().last = parts_.table.leave(*held_, false) == engine::grant_table::left::last;
    release_.emplace(parts_, last_, room_);
    driver_.run(*release_, [this](const std::exception_ptr&) { released_ = true; });
  }

  bool over() const { return over_; }
  bool released() const { return released_; }
  engine::release_result result() const { return last_.front().result; }
  /// Once it is over: none, or the code of what was thrown.
  std::error_code end() const { return end_; }
  const std::shared_ptr<engine::grant>& held() const { return held_; }
  std::thread::id acquired_on{};

 private:
  void take_result(const std::exception_ptr& failure) {
    if (failure != nullptr) std::rethrow_exception(failure);
    held_ = acquire_->result(clock_.now()).held;
    if (held_ == nullptr) throw lock_timeout(acquire_->why_busy(clock_.now()));
  }

  engine::parts& parts_;
  const time_source& clock_;
  const lock_key key_;
  const detail::lock_settings terms_;
  std::optional<engine::service_core::call> call_;
  toy_async_driver driver_;
  std::optional<engine::acquisition> acquire_{};
  std::shared_ptr<engine::grant> held_{};
  std::error_code end_{};
  std::atomic<bool> over_{false};
  std::array<engine::ended_lease, 1> last_{};
  std::array<engine::statement*, 1> room_{};
  std::optional<engine::release_operation> release_{};
  std::atomic<bool> released_{false};
};

}  // namespace dlock::test
