// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlock/detail/odb_compat.hpp>
//
#include <odb/query-dynamic.hxx>

namespace dlock::detail {

/// A query taken apart at its ORDER BY, so that more can be said in its condition. Refers to the parameters of `from`,
/// which must outlive it.
struct query_parts {
  /// Throws std::invalid_argument for a query that has more than a condition and an ORDER BY.
  explicit query_parts(const odb::query_base& from);

  odb::query_base condition{};  ///< may be empty: all rows
  odb::query_base order{};      ///< begins with ORDER BY; may be empty
};

}  // namespace dlock::detail
