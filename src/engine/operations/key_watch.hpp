// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>

#include "dlock/store/store.hpp"
#include "engine/operations/look_pause.hpp"

namespace dlock::engine {

/// A part of an operation: hears from the store when the key that it waits for may be free, and ends the pause then. Does
/// nothing where the store can't tell.
class key_watch final : private key_listener {
 public:
  key_watch(parts& with, look_pause& pause) noexcept : with_(with), pause_(pause) {}
  key_watch(const key_watch&) = delete;
  key_watch& operator=(const key_watch&) = delete;
  ~key_watch() { end(); }

  /// From now on that key, which must outlive it, unless it is watched already. What has stopped working is begun anew.
  void begin(const lock_key& key, const id128& session) noexcept;
  void end() noexcept;
  /// Whether the store will tell. If not, it is to be looked at as often as otherwise.
  bool works() const noexcept { return works_; }

 private:
  void may_be_free(bool works) noexcept override {
    works_ = works;
    if (!works) stopped_ = true;
    pause_.tell();
  }

  parts& with_;
  look_pause& pause_;
  const lock_key* key_ = nullptr;  // while it watches
  id128 session_{};
  std::atomic<bool> works_{false};
  std::atomic<bool> stopped_{false};
};

}  // namespace dlock::engine
