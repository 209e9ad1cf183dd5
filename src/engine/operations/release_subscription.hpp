// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>

#include "dlock/store_interface/store.hpp"
#include "engine/operations/poll_wait.hpp"

namespace dlock::engine {

/// A part of an operation: hears from the store when the key that it waits for may be free, and ends the pause then.
/// Does nothing where the store can't tell.
class release_subscription final : private key_listener {
 public:
  release_subscription(engine_services& services, poll_wait& pause) noexcept : services_(services), pause_(pause) {}
  release_subscription(const release_subscription&) = delete;
  release_subscription& operator=(const release_subscription&) = delete;
  ~release_subscription() { end(); }

  /// From now on that key, which must outlive it, unless it is watched already. What has stopped working is begun anew.
  void begin(const lock_key& key, const id128& session) noexcept;
  void end() noexcept;
  /// Whether the store will tell.
  bool works() const noexcept { return works_; }
  /// Whether it tells of every moment in which the key may be free. If not, it is to be polled as often as otherwise.
  bool replaces_polls() const noexcept { return works_ && !services_.caps.others_release; }
  /// Whether the last notification said that it begins or stops to work, and no more. False the next time.
  bool has_changed() noexcept { return changed_.exchange(false); }

 private:
  void may_be_free(bool works) noexcept override {
    if (works_.exchange(works) != works) changed_ = true;
    if (!works) stopped_ = true;
    pause_.tell();
  }
  void list_held(std::vector<lock_held_meanwhile>& all) const override;
  void closes_circle(std::string_view held, std::span<const circle_link> others) noexcept override;

  engine_services& services_;
  poll_wait& pause_;
  const lock_key* key_ = nullptr;  // while it watches
  id128 session_{};
  std::atomic<bool> works_{false};
  std::atomic<bool> stopped_{false};
  std::atomic<bool> changed_{false};
};

}  // namespace dlock::engine
