// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <new>
#include <utility>

namespace dlock::base {

/// Room for one object that is made later, or never, like std::optional. The room is not written before there is an
/// object in it, while compilers clear the whole of an empty optional, which for an acquire was 2 KB. Not thread-safe.
template <class T>
class late_object {
 public:
  late_object() noexcept {}  // NOLINT(modernize-use-equals-default): that would clear the room where {} makes it
  late_object(const late_object&) = delete;
  late_object& operator=(const late_object&) = delete;
  ~late_object() { reset(); }

  /// Ends the one before first. If T's constructor throws, there is none.
  template <class... Args>
  T& emplace(Args&&... args) {
    reset();
    made_ = ::new (static_cast<void*>(room_)) T(std::forward<Args>(args)...);
    return *made_;
  }
  void reset() noexcept {
    if (auto* const made = std::exchange(made_, nullptr)) std::destroy_at(made);
  }

  bool has_value() const noexcept { return made_ != nullptr; }
  T& operator*() noexcept { return *made_; }
  const T& operator*() const noexcept { return *made_; }
  T* operator->() noexcept { return made_; }
  const T* operator->() const noexcept { return made_; }

 private:
  T* made_ = nullptr;
  alignas(T) unsigned char room_[sizeof(T)];  // NOLINT(modernize-avoid-c-arrays): std::array{} would be cleared too
};

}  // namespace dlock::base
