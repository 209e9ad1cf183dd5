// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace dlock::detail {

template <class Signature>
class once_function;

/// Holds any callable, move-only ones too (std::move_only_function is C++23). Small ones need no allocation.
template <class... Args>
class once_function<void(Args...)> {
 public:
  once_function() noexcept = default;
  template <class F>
  explicit once_function(F&& fn) {
    using callable = std::decay_t<F>;
    if constexpr (requires { fn == nullptr; }) {
      if (fn == nullptr) return;
    }
    if constexpr (is_small<callable>) {
      ::new (room()) callable(std::forward<F>(fn));
    } else {
      ::new (room()) std::unique_ptr<callable>(std::make_unique<callable>(std::forward<F>(fn)));
    }
    does_ = &table<callable>;
  }
  once_function(once_function&& other) noexcept { take(other); }
  once_function& operator=(once_function&& other) noexcept {
    if (this == &other) return *this;
    drop();
    take(other);
    return *this;
  }
  ~once_function() { drop(); }

  explicit operator bool() const noexcept { return does_ != nullptr; }
  /// Precondition: not empty.
  void operator()(Args... args) { does_->call(room(), std::forward<Args>(args)...); }

 private:
  struct functions {
    void (*call)(void* at, Args&&... args);
    void (*move)(void* from, void* to) noexcept;  // and destroys what was there
    void (*destroy)(void* at) noexcept;
  };
  static constexpr std::size_t small = 3 * sizeof(void*);
  template <class F>
  static constexpr bool is_small = sizeof(F) <= small &&
                                   alignof(F) <= alignof(void*) && std::is_nothrow_move_constructible_v<F>;

  template <class F>
  static F& in(void* at) noexcept {
    if constexpr (is_small<F>) {
      return *std::launder(static_cast<F*>(at));
    } else {
      return **std::launder(static_cast<std::unique_ptr<F>*>(at));
    }
  }
  template <class F>
  using stored = std::conditional_t<is_small<F>, F, std::unique_ptr<F>>;
  template <class F>
  static constexpr functions table{
      .call = [](void* at, Args&&... args) { static_cast<void>(in<F>(at)(std::forward<Args>(args)...)); },
      .move =
          [](void* from, void* to) noexcept {
            auto* const before = std::launder(static_cast<stored<F>*>(from));
            ::new (to) stored<F>(std::move(*before));
            std::destroy_at(before);
          },
      .destroy = [](void* at) noexcept { std::destroy_at(std::launder(static_cast<stored<F>*>(at))); }};

  void* room() noexcept { return room_.data(); }
  void take(once_function& other) noexcept {
    if (other.does_ == nullptr) return;
    other.does_->move(other.room(), room());
    does_ = std::exchange(other.does_, nullptr);
  }
  void drop() noexcept {
    if (does_ != nullptr) std::exchange(does_, nullptr)->destroy(room());
  }

  alignas(void*) std::array<std::byte, small> room_;
  const functions* does_ = nullptr;
};

}  // namespace dlock::detail
