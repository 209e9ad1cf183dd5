// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Which mapped classes have rows that can be locked in place, and what dlock knows of them at compile time.

#include "dlock/detail/odb_compat.hpp"
//
#include <odb/database.hxx>
#include <odb/query-dynamic.hxx>
#include <odb/traits.hxx>

#include <typeindex>

#include "dlock/export.hpp"
#include "dlock/odb/detail/row_values.hpp"
#include "dlock/odb/entity_traits.hpp"
#include "dlock/odb/lock_columns.hpp"
#include "dlock/store_interface/row_table.hpp"

namespace DLOCK_EXPORT dlock {

namespace detail {

template <class T>
using query_columns_of = odb::query_columns<T, odb::id_common, odb::access::object_traits_impl<T, odb::id_common>>;

template <class T>
concept mapped_class = odb::class_traits<T>::kind == odb::class_object;

template <class T>
concept has_lock_columns = requires {
  query_columns_of<T>::lock.owner.native_info;
  query_columns_of<T>::lock.expires_at_us.native_info;
  query_columns_of<T>::lock.fence.native_info;
};

template <class T>
concept has_expiring_lock_columns = requires {
  query_columns_of<T>::lock.owner.native_info;
  query_columns_of<T>::lock.expire_time.native_info;
};

template <class T>
concept has_version = requires {
  typename odb::object_traits<T>::version_type;
  query_columns_of<T>::version.native_info;
};

template <class T>
concept has_entity_traits = requires {
  entity_traits<T>::on(odb::id_common);
};

}  // namespace detail

/// A class whose rows can be locked in place: mapped by dlock_odb_generate() (its x-odb.hxx is included), with a member
/// `lock` of type lock_columns or expiring_lock_columns, `optimistic`, with a version member `version`.
template <class T>
concept lockable = detail::mapped_class<T> &&
    (detail::has_lock_columns<T> ||
     detail::has_expiring_lock_columns<T>)&&detail::has_version<T>&& detail::has_entity_traits<T>;

namespace detail {

/// Ends the compilation with one sentence unless T is lockable.
template <class T>
constexpr bool check_lockable() {
  constexpr bool locks = has_lock_columns<T> || has_expiring_lock_columns<T>;
  static_assert(
      mapped_class<T>,
      "dlock: rows of this class cannot be locked in place: it is no mapped class here; run its header through "
      "dlock_odb_generate() and include the x-odb.hxx that comes of it");
  static_assert(
      !mapped_class<T> || locks,
      "dlock: rows of this class cannot be locked in place: add a member `dlock::lock_columns lock;` (and the "
      "columns to its table: x-lock-columns-<database>.sql)");
  static_assert(!mapped_class<T> || !locks || has_version<T>,
                "dlock: rows of this class cannot be locked in place: make it `#pragma db object optimistic` and add a "
                "`#pragma db version` member called `version`, so that copies loaded before a lock can't be written");
  static_assert(!mapped_class<T> || !locks || !has_version<T> || has_entity_traits<T>,
                "dlock: rows of this class cannot be locked in place: nothing says which columns its id has; map its "
                "header by dlock_odb_generate(), or, where you run ODB's compiler yourself, have its x-dlock.hxx "
                "written and included (docs/row-locks.md), or specialise dlock::entity_traits");
  return lockable<T>;
}

/// The names of a class's columns, on each database.
struct row_class {
  std::type_index type;
  const odb::native_column_info* owner = nullptr;
  const odb::native_column_info* expires_at = nullptr;
  const odb::native_column_info* fence = nullptr;
  const odb::native_column_info* version = nullptr;
  row_renewal renewal = row_renewal::session;
  entity_columns (*columns)(odb::database_id) = nullptr;
};

template <class T>
row_class row_class_of() {
  using columns = query_columns_of<T>;
  if constexpr (has_lock_columns<T>) {
    return {.type = typeid(T),
            .owner = columns::lock.owner.native_info,
            .expires_at = columns::lock.expires_at_us.native_info,
            .fence = columns::lock.fence.native_info,
            .version = columns::version.native_info,
            .columns = &entity_traits<T>::on};
  } else {
    return {.type = typeid(T),
            .owner = columns::lock.owner.native_info,
            .expires_at = columns::lock.expire_time.native_info,
            .fence = columns::version.native_info,
            .version = columns::version.native_info,
            .renewal = row_renewal::column,
            .columns = &entity_traits<T>::on};
  }
}

/// After the one sentence nothing more is to be said.
struct no_id {
  template <class Any>
  no_id(const Any& /*unused*/) {}  // NOLINT(google-explicit-constructor)
};

template <class T, bool = check_lockable<T>()>
struct row_id_type {
  using type = no_id;
};
template <class T>
struct row_id_type<T, true> {
  using type = typename odb::object_traits<T>::id_type;
};

}  // namespace detail

/// What names a row of T: the type of its id member.
template <class T>
using row_id_of = typename detail::row_id_type<T>::type;

}  // namespace dlock
