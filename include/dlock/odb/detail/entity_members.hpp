// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Members of entities that only ODB may see.

#include <cstdint>
#include <memory>

#include "dlock/odb/lockable.hpp"

namespace dlock::detail {

template <class T>
struct peek;

/// Of the grant under which the entity was loaded.
template <class T>
std::uint64_t entity_fence(const T& entity);

/// The version member.
template <class T>
auto& entity_version(T& entity);

}  // namespace dlock::detail

namespace odb {

/// A mapped class makes odb::access its friend, and what is declared inside that may see its members.
template <class T>
class access::view_traits<dlock::detail::peek<T>> {
 public:
  static std::uint64_t fence(T& entity) {
    if constexpr (dlock::detail::has_lock_columns<T>) {
      if constexpr (requires { entity.lock_.fence(); }) {
        return entity.lock_.fence();
      } else {
        return entity.lock.fence();
      }
    } else {
      return static_cast<std::uint64_t>(version(entity));
    }
  }
  static auto& version(T& entity) {
    constexpr bool underscore = requires { entity.version_; };
    constexpr bool plain = requires { entity.version; };
    static_assert(
        underscore || plain,
        "dlock: rows of this class cannot be locked in place: call its version member `version` or `version_`");
    if constexpr (underscore) {
      return entity.version_;
    } else if constexpr (plain) {
      return entity.version;
    } else {
      return entity;
    }
  }
};

}  // namespace odb

template <class T>
std::uint64_t dlock::detail::entity_fence(const T& entity) {
  return odb::access::view_traits<peek<T>>::fence(const_cast<T&>(entity));
}

template <class T>
auto& dlock::detail::entity_version(T& entity) {
  return odb::access::view_traits<peek<T>>::version(entity);
}
