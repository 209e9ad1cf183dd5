// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Which mapped classes have rows that can be locked in place, and what dlock knows of them at compile time.

#include "dlock/detail/odb_compat.hpp"
//
#include <odb/database.hxx>
#include <odb/pointer-traits.hxx>
#include <odb/query-dynamic.hxx>
#include <odb/traits.hxx>

#include <typeindex>

#include "dlock/export.hpp"
#include "dlock/odb/detail/row_values.hpp"
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

}  // namespace detail

/// A class whose rows can be locked in place: mapped by dlock_odb_generate() (its x-odb.hxx is included), with a member
/// `lock` of type lock_columns or expiring_lock_columns, `optimistic`, with a version member `version`.
template <class T>
concept lockable = detail::mapped_class<T> &&
    (detail::has_lock_columns<T> || detail::has_expiring_lock_columns<T>)&&detail::has_version<T>;

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
  return lockable<T>;
}

/// Where ODB keeps the names of a class's columns, for each database.
struct row_class {
  std::type_index type;
  const odb::native_column_info* owner = nullptr;
  const odb::native_column_info* expires_at = nullptr;
  const odb::native_column_info* fence = nullptr;
  const odb::native_column_info* version = nullptr;
  row_renewal renewal = row_renewal::session;
  /// Lets ODB look for some row by its id, in the current transaction: its statement names the id's columns in the
  /// order of the id's members, which nothing else tells.
  void (*find)(odb::database&) = nullptr;
};

template <class T>
void find_any(odb::database& db) {
  using pointer = odb::pointer_traits<typename odb::object_traits<T>::pointer_type>;
  auto found = db.find<T>(typename odb::object_traits<T>::id_type{});
  const typename pointer::guard owner(found);
}

template <class T>
row_class row_class_of() {
  using columns = query_columns_of<T>;
  if constexpr (has_lock_columns<T>) {
    return {.type = typeid(T),
            .owner = columns::lock.owner.native_info,
            .expires_at = columns::lock.expires_at_us.native_info,
            .fence = columns::lock.fence.native_info,
            .version = columns::version.native_info,
            .find = &find_any<T>};
  } else {
    return {.type = typeid(T),
            .owner = columns::lock.owner.native_info,
            .expires_at = columns::lock.expire_time.native_info,
            .fence = columns::version.native_info,
            .version = columns::version.native_info,
            .renewal = row_renewal::column,
            .find = &find_any<T>};
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
