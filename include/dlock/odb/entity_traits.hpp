// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The facts about a mapped class that dlock needs and that ODB's runtime does not have. dlock_odb_generate() writes
/// them for each class: x-odb.hxx includes x-dlock.hxx. C++14, like the code that ODB generates.
///
/// If you run ODB's compiler yourself, docs/row-locks.md says how to generate the same file, or write it by hand:
///
///   template <>
///   struct dlock::entity_traits<order> {
///     static entity_columns on(odb::database_id) { return {{"id"}, {}, false}; }
///   };

#include <odb/forward.hxx>
#include <string>
#include <vector>

#include "dlock/export.hpp"

namespace DLOCK_EXPORT dlock {

/// Names may have the quotation marks of the database.
struct entity_columns {
  /// The columns of the id, in the order of its members. Empty: the class is not mapped for that database, or ODB
  /// compares a column of its id with more than the value (#pragma db map type).
  std::vector<std::string> id;
  /// The tables that ODB joins when a query names them (it follows a pointer), by their aliases.
  std::vector<std::string> joins;
  /// Whether ODB joins one of them in each query: an inverse pointer, or a class derived from a mapped one.
  bool always_joins;
};

/// Has a static function `entity_columns on(odb::database_id)`.
template <class T>
struct entity_traits;

}  // namespace dlock
