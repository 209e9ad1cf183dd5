// SPDX-License-Identifier: BSL-1.0
#pragma once

// Calling anything that can be called, as std::invoke does. That is in <functional>, which takes a tenth of the time in
// which all of dlock/dlock.hpp compiles; whether and with what result something can be called is in <type_traits>.

#include <memory>  // libstdc++ has std::reference_wrapper in it
#include <type_traits>
#include <utility>

#ifndef __GLIBCXX__
#include <functional>
#endif

namespace dlock::detail {

template <class T>
struct is_reference_wrapper : std::false_type {};
template <class T>
struct is_reference_wrapper<std::reference_wrapper<T>> : std::true_type {};

// The object that a pointer to a member of Class is applied to: `object` itself, or what it stands for.
template <class Class, class Object>
constexpr decltype(auto) object_of(Object&& object) {
  if constexpr (std::is_base_of_v<Class, std::remove_cvref_t<Object>>) {
    return std::forward<Object>(object);
  } else if constexpr (is_reference_wrapper<std::remove_cvref_t<Object>>::value) {
    return object.get();
  } else {
    return *std::forward<Object>(object);
  }
}

template <class Member, class Class, class Object, class... Args>
constexpr decltype(auto) invoke_member(Member Class::*member, Object&& object, Args&&... args) {
  if constexpr (std::is_function_v<Member>) {
    return (object_of<Class>(std::forward<Object>(object)).*member)(std::forward<Args>(args)...);
  } else {
    return (object_of<Class>(std::forward<Object>(object)).*member);
  }
}

// std::invoke.
template <class F, class... Args>
requires std::is_invocable_v<F, Args...>
constexpr std::invoke_result_t<F, Args...> invoke(F&& fn, Args&&... args) {
  if constexpr (std::is_member_pointer_v<std::remove_cvref_t<F>>) {
    return invoke_member(fn, std::forward<Args>(args)...);
  } else {
    return std::forward<F>(fn)(std::forward<Args>(args)...);
  }
}

}  // namespace dlock::detail
