// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <utility>

namespace dlock::engine {

/// A member by which an object is in one list at a time. The list is a pointer to its first object, and owns nothing,
/// so adding and removing cannot fail. An object must leave the list before it is destroyed. Thread safety: none.
template <class T>
class list_link {
 public:
  bool linked() const noexcept { return at_ != nullptr; }
  T* next() const noexcept { return next_; }

  /// Puts it before the first object. Precondition: it is in no list by that member.
  static void add(T*& first, T& object, list_link T::*by) noexcept {
    auto& own = object.*by;
    own.next_ = std::exchange(first, &object);
    own.at_ = &first;
    if (own.next_ != nullptr) (own.next_->*by).at_ = &own.next_;
  }
  /// Takes it out of its list. Returns false if it is in none.
  static bool remove(T& object, list_link T::*by) noexcept {
    auto& own = object.*by;
    if (own.at_ == nullptr) return false;
    *own.at_ = own.next_;
    if (own.next_ != nullptr) (own.next_->*by).at_ = own.at_;
    own = {};
    return true;
  }

 private:
  T* next_ = nullptr;
  T** at_ = nullptr;  // the pointer to this object
};

}  // namespace dlock::engine
