// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "dlock/odb/lockable.hpp"

namespace dlock::detail {

template <class T>
struct peek;

template <class T>
std::uint64_t entity_fence(const T& entity);

}  // namespace dlock::detail

namespace odb {

/// A mapped class makes odb::access its friend, and what is declared inside that may see its members: by this the fence of
/// an entity is read whose `lock` is private.
template <class T>
class access::view_traits<dlock::detail::peek<T>> {
 public:
  static std::uint64_t fence(const T& entity) {
    if constexpr (dlock::detail::has_row_lock<T>) {
      if constexpr (requires { entity.lock_.fence(); }) {
        return entity.lock_.fence();
      } else {
        return entity.lock.fence();
      }
    } else {
      if constexpr (requires { entity.version_; }) {
        return static_cast<std::uint64_t>(entity.version_);
      } else {
        return static_cast<std::uint64_t>(entity.version);
      }
    }
  }
};

}  // namespace odb

template <class T>
std::uint64_t dlock::detail::entity_fence(const T& entity) {
  return odb::access::view_traits<peek<T>>::fence(entity);
}
