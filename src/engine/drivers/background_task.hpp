// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "engine/drivers/async_driver.hpp"
#include "engine/operations/flow.hpp"

namespace dlock::engine {

/// A coroutine for which no caller waits, and which the driver runs to its end. An exception ends only the task.
class background_task final : public async_run, public upkeep, public std::enable_shared_from_this<background_task> {
 public:
  /// Begins `body(flow, args...)`. `end` interrupts its waits; the end of the service does not. Throws std::bad_alloc
  /// before the task begins.
  template <class Body, class... Args>
  static void start(async_driver& in, std::stop_token end, Body&& body, Args&&... args) {
    prepare(in, std::move(end), std::forward<Body>(body), std::forward<Args>(args)...)->begin(nullptr);
  }
  /// The same, but begin() begins the task, and cannot fail.
  template <class Body, class... Args>
  static std::shared_ptr<upkeep> prepare(async_driver& in, std::stop_token end, Body&& body, Args&&... args) {
    return std::shared_ptr<background_task>(
        new background_task(in, std::move(end), std::forward<Body>(body), std::forward<Args>(args)...));
  }
  ~background_task() = default;

  void begin(std::shared_ptr<grant> held) noexcept override {
    self_ = shared_from_this();
    about_ = std::move(held);
    counted_.emplace(driver());
    driver().start(*this, body_);
  }
  void stop() noexcept override { wake(); }

 private:
  template <class Body, class... Args>
  background_task(async_driver& in, std::stop_token end, Body&& body, Args&&... args)
      : async_run(in, std::move(end), end_of_service::ignored),
        body_({}, *this, std::forward<Body>(body), std::forward<Args>(args)...) {}

  void finished(std::exception_ptr /*failure*/) noexcept override {}
  void ended() noexcept override {
    const auto self = std::move(self_);
    counted_.reset();
    about_.reset();
  }

  coroutine_operation<void> body_;  // its frames are on the heap
  // From its beginning to its end:
  std::shared_ptr<background_task> self_{};
  std::shared_ptr<grant> about_{};
  std::optional<async_driver::background_count> counted_{};
};

}  // namespace dlock::engine
