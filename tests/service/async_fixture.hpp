// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "dlock/async.hpp"
#include "service/engine_fixture.hpp"
#include "support/test.hpp"

namespace dlock::test {

/// The code of a dlock::error; none for null.
inline std::error_code code_of(const std::exception_ptr& failure) {
  return thrown([&] {
    if (failure != nullptr) std::rethrow_exception(failure);
  });
}

/// A service whose operations are run without threads that wait for them.
struct async_fixture : engine_fixture {
  std::unique_ptr<lock_service> home = service(few_connections());

  /// What still waits ends, and its handler is called, before the clock does.
  ~async_fixture() {
    if (home == nullptr) return;
    home->close(0ms);
    settle();
  }
  engine::service_core& core_of_home() { return *detail::access::core_of(*home); }
  /// Threads and tasks that stand in the queue.
  std::size_t standing() { return core_of_home().all().queue.queued(); }
  /// Takes use one at a time.
  service_options few_connections() {
    auto settings = options();
    settings.connections = 1;
    return settings;
  }
  /// Until nothing goes on before time moves.
  void settle(const stores::virtual_clock::known& but = {}) { REQUIRE(clock.at_rest(but)); }
  void settle_after(std::chrono::microseconds time, const stores::virtual_clock::known& but = {}) {
    REQUIRE(at_rest_after(time, but));
  }
};

/// A lock that a task takes and releases: an owner of its own, and no thread.
class async_lock {
 public:
  async_lock(async_fixture& in, lock_key key, lock_options terms = {})
      : locks_(*in.home), key_(std::move(key)), terms_(std::move(terms)) {}
  async_lock(const async_lock&) = delete;
  async_lock& operator=(const async_lock&) = delete;

  /// Returns at once, as release() does.
  void acquire(std::function<void()> then = {}) {
    locks_.async_acquire(key_, terms_,
                         [mine = mine_, then = std::move(then)](const std::exception_ptr& failure, lease held) {
                           mine->end = code_of(failure);
                           mine->held = std::move(held);
                           mine->thread = std::this_thread::get_id();
                           ++mine->over;
                           if (then) then();
                         });
  }
  void release() {
    async_release(std::move(mine_->held), [mine = mine_](const std::exception_ptr& failure) {
      mine->released_end = code_of(failure);
      ++mine->released;
    });
  }

  bool over() const { return mine_->over == 1; }
  bool released() const { return mine_->released == 1; }
  /// Once it is over: none, or the code of what was thrown.
  std::error_code end() const { return mine_->end; }
  std::error_code released_end() const { return mine_->released_end; }
  const lease& held() const { return mine_->held; }
  /// The thread on which the handler was called.
  std::thread::id on() const { return mine_->thread; }

 private:
  struct state {
    lease held{};
    std::error_code end{};
    std::error_code released_end{};
    std::thread::id thread{};
    std::atomic<int> over{0};
    std::atomic<int> released{0};
  };
  lock_service& locks_;
  const lock_key key_;
  const lock_options terms_;
  const std::shared_ptr<state> mine_ = std::make_shared<state>();  // a handler may outlive *this
};

}  // namespace dlock::test
