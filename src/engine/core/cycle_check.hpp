// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <vector>

#include "engine/core/service_core.hpp"
#include "engine/drivers/blocking_driver.hpp"
#include "engine/registry/nested_wait.hpp"

namespace dlock::engine {

/// Ends a wait in a deadlock cycle of waiting threads, if no other wait of it ends earlier. Only the thread's own owner
/// counts: what an owner holds that the program named, other threads may release.
class cycle_check final : public wait_check {
 public:
  /// `until`: the end of the wait.
  cycle_check(service_core& core, blocking_driver& driver, instant until) noexcept
      : core_(core), until_(until), wait_(driver.signal()) {
    driver.check_waits(*this);
  }
  ~cycle_check() { end(); }
  /// Whether the calling thread can be in a deadlock cycle at all. `several`: it holds some keys while it waits for
  /// others. A wait that may end after some polls closes none: nobody knows when it ends.
  static bool needed(bool several, const detail::lock_settings& terms) noexcept;

  verdict check(const operation& op, const lock_key& key) noexcept override;
  /// An acquire of several keys gives its turns back if one of them is busy at the store.
  void asks() noexcept override;
  /// Of a wait that was refused: tells the observer, and says why.
  std::string tell() const;

 private:
  void end() noexcept;
  /// Waiters for any of these keys have something else behind them now.
  void tell_store(const std::vector<std::string>& keys) const noexcept;

  service_core& core_;
  const instant until_;
  nested_wait wait_;
  std::vector<cycle_link> cycle_{};
  const lock_key* key_ = nullptr;      // that was waited for last
  const lock_key* refused_ = nullptr;  // the wait for that is in vain
  std::vector<nested_wait::held_lock> taken_{};
};

}  // namespace dlock::engine
