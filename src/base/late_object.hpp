// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <new>
#include <utility>

namespace dlock::base {

/// Storage for one object that is constructed later or never, like std::optional. The storage stays unwritten until
/// then; compilers clear an empty optional as a whole, which cost an acquire 2 KB of writes. Not thread-safe.
template <class T>
class late_object {
 public:
  late_object() noexcept {}  // NOLINT(modernize-use-equals-default): `= default` would make {} clear the storage
  late_object(const late_object&) = delete;
  late_object& operator=(const late_object&) = delete;
  ~late_object() { reset(); }

  /// Destroys the previous object first. If T's constructor throws, there is no object.
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
