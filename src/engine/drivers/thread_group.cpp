// SPDX-License-Identifier: BSL-1.0
#include "engine/drivers/thread_group.hpp"

#include <thread>

namespace dlock::engine {

namespace {

class system_threads final : public thread_host {
 public:
  void start(std::function<void()> body) override { std::thread(std::move(body)).detach(); }
  time_source& join_clock() noexcept override { return system_time(); }
};

}  // namespace

thread_host& host_of(time_source& time) noexcept {
  // Never destroyed: threads of a service that outlives main() may still end.
  static auto* const system = new system_threads;
  auto* const own = dynamic_cast<thread_host*>(&time);
  return own != nullptr ? *own : *system;
}

}  // namespace dlock::engine
