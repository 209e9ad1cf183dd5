// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/access.hpp"
#include "base/lock_settings.hpp"
#include "engine/core/blocking_calls.hpp"

namespace dlock::test {

/// What is behind a service: its core, with the calls of its faces, and what they don't show.
class inside {
 public:
  inside() = default;
  explicit inside(std::shared_ptr<engine::service_core> core) : core_(std::move(core)) {}

  lease acquire(const lock_key& key, const detail::lock_settings& terms, bool once) const {
    auto got = engine::acquire(*core_, key, terms, {.once = once});
    if (got.held != nullptr) return detail::access::make(std::move(got.held), got.entered_again, got.first);
    if (!once) throw lock_timeout(got.why_busy);
    return {};
  }
  multi_lease acquire(const lock_keys& keys, const detail::lock_settings& terms, bool once) const {
    std::vector<lease> leases;
    leases.reserve(keys.size());
    auto got = engine::acquire_all(*core_, keys, terms, {.once = once});
    if (got.held.empty() && !once) throw lock_timeout(got.why_busy);
    for (auto& each : got.held) {
      leases.push_back(detail::access::make(std::move(each.held), each.entered_again, each.first));
    }
    return leases.empty() ? multi_lease() : detail::access::make(keys, std::move(leases));
  }
  std::vector<std::string> close(std::chrono::milliseconds limit) const { return core_->close(limit); }
  void finish() const { core_->finish(); }
  /// Threads that stand in the queue behind others of this service.
  std::size_t waiting() const { return core_->all().queue.queued(); }
  std::uint64_t statements() const { return core_->all().statements.statements(); }
  const std::shared_ptr<engine::service_core>& core() const noexcept { return core_; }

 private:
  std::shared_ptr<engine::service_core> core_;
};

}  // namespace dlock::test
