// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <vector>

#include "engine/core/service_core.hpp"
#include "engine/drivers/blocking_driver.hpp"
#include "engine/registry/nested_wait.hpp"

namespace dlock::engine {

/// Ends a wait in a deadlock cycle of waiting threads, unless another wait of the cycle ends earlier. Only locks of the
/// thread's own owner count, because other threads may release what a named owner holds.
class cycle_check final : public wait_check {
 public:
  /// `until` is the end of the wait.
  cycle_check(service_core& core, blocking_driver& driver, instant until) noexcept
      : core_(core), until_(until), wait_(driver.signal()) {
    driver.check_waits(*this);
  }
  ~cycle_check() { end(); }
  /// Whether the calling thread can be in a deadlock cycle at all. `several`: it holds some keys while it waits for
  /// others. A wait with a limited number of polls can't be, because it is unknown when it ends.
  static bool needed(bool several, const detail::lock_settings& terms) noexcept;

  verdict check(const operation& op, const lock_key& key) noexcept override;
  /// Whether it has ended the wait.
  bool refused() const noexcept { return refused_ != nullptr; }
  /// Notifies the observer of a wait that was refused, and returns the reason. Precondition: refused().
  std::string tell() const;

 private:
  void end() noexcept;
  /// Notifies the store that other threads wait behind the waiters for these keys now.
  void tell_store(const std::vector<std::string>& keys) const noexcept;

  service_core& core_;
  const instant until_;
  nested_wait wait_;
  std::vector<cycle_link> cycle_{};
  const lock_key* key_ = nullptr;      // the key of the last wait
  const lock_key* refused_ = nullptr;  // the key of the refused wait
  std::vector<nested_wait::held_lock> taken_{};
};

}  // namespace dlock::engine
