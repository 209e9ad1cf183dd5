// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What locked.hpp makes: a callable and how to lock it.

#include <concepts>
#include <type_traits>
#include <utility>

#include "dlock/detail/fixed_string.hpp"
#include "dlock/detail/key_composer.hpp"
#include "dlock/detail/lease_call.hpp"
#include "dlock/export.hpp"
#include "dlock/lock_key.hpp"
#include "dlock/lock_options.hpp"
#include "dlock/lock_service.hpp"

namespace dlock::detail {

enum class when_busy { wait, skip };

// Throws std::invalid_argument for what calls to that service would refuse.
DLOCK_EXPORT void check_options(const lock_service& service, const lock_options& options);

// A pattern without braces says nothing about arguments, so it takes any.
template <fixed_string Pattern, fixed_string... Names>
struct pattern_key {
  template <class... Args>
  lock_key operator()(const Args&... args) const {
    if constexpr (sizeof...(Names) == 0 && parsed<Pattern>.count == 0) {
      return key_composer<Pattern>()();
    } else {
      return key_composer<Pattern, Names...>()(args...);
    }
  }
};

struct same_key {
  lock_key key;
  template <class... Args>
  const lock_key& operator()(const Args&...) const noexcept {
    return key;
  }
};

// Member aliases: where F cannot be called there is no such overload, rather than an error in here.
template <when_busy Busy>
struct decorated_result {
  template <class F, class... Args>
  using type = call_result_t<F, Args...>;
};
template <>
struct decorated_result<when_busy::skip> {
  template <class F, class... Args>
  using type = call_or_nothing_t<F, Args...>;
};

template <class Compose, class F, when_busy Busy>
class [[nodiscard]] locked_function {
  template <class Callable, class... Args>
  using result = typename decorated_result<Busy>::template type<Callable, Args...>;

 public:
  locked_function(Compose compose, F fn, lock_service& service, const lock_options& options)
      : compose_(std::move(compose)), fn_(std::move(fn)), service_(&service), options_(options) {
    check_options(service, options);
  }

  // Constrained, so that asking whether a decorator can be called has a plain answer: decorators nest.
  template <class... Args>
  requires callable_under_lock<F&, Args...> result<F&, Args...>
  operator()(Args&&... args) & { return call(*this, fn_, std::forward<Args>(args)...); }
  template <class... Args>
  requires callable_under_lock<const F&, Args...> result<const F&, Args...>
  operator()(Args&&... args) const& { return call(*this, fn_, std::forward<Args>(args)...); }
  template <class... Args>
  requires callable_under_lock<F, Args...> result<F, Args...>
  operator()(Args&&... args) && { return call(*this, std::move(fn_), std::forward<Args>(args)...); }

  // A caller that asks still learns that it can't be called, and a compiler shows the line with the sentence.
  // clang-format off
  template <class... Args>
  requires(!callable_under_lock<const F&, Args...> && !callable_under_lock<F&, Args...>)
  void operator()(Args&&...) const = delete;  // dlock: the decorated function can't be called with these arguments
  // clang-format on

 private:
  template <class Callable, class... Args>
  static result<Callable, Args...> call(const locked_function& self, Callable&& fn, Args&&... args) {
    if constexpr (Busy == when_busy::wait) {
      return call_checked(self.service_->acquire(self.key_for(args...), self.options_), std::forward<Callable>(fn),
                          std::forward<Args>(args)...);
    } else {
      return call_unless_empty(self.service_->try_acquire(self.key_for(args...), self.options_),
                               std::forward<Callable>(fn), std::forward<Args>(args)...);
    }
  }

  // The arguments are only looked at, and that before they are forwarded.
  template <class... Args>
  lock_key key_for(const Args&... args) const {
    static_assert(std::is_invocable_r_v<lock_key, const Compose&, const Args&...>,
                  "dlock: the key of locked(key, fn) must be text, a lock_key, or callable with the function's "
                  "arguments by const reference, giving one of these");
    return compose_(args...);
  }

  Compose compose_;
  F fn_;
  lock_service* service_;
  lock_options options_;
};

template <when_busy Busy, class Compose, class F>
auto decorate(Compose&& compose, F&& fn, lock_service& service, const lock_options& options) {
  if constexpr (std::convertible_to<Compose, lock_key>) {
    return locked_function<same_key, std::decay_t<F>, Busy>(same_key{lock_key(std::forward<Compose>(compose))},
                                                            std::forward<F>(fn), service, options);
  } else {
    return locked_function<std::decay_t<Compose>, std::decay_t<F>, Busy>(std::forward<Compose>(compose),
                                                                         std::forward<F>(fn), service, options);
  }
}

}  // namespace dlock::detail
