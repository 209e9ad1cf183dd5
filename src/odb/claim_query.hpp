// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlock/detail/odb_compat.hpp>
//
#include <odb/forward.hxx>
#include <odb/query-dynamic.hxx>

#include <string>

#include "dlock/odb/entity_traits.hpp"

namespace dlock::detail {

/// A query whose condition may be narrowed.
class claim_query {
 public:
  /// Throws std::invalid_argument for a query that has more than a condition and an ORDER BY.
  explicit claim_query(const odb::query_base& from);

  /// more AND (condition) ORDER BY ...
  odb::query_base narrowed(const std::string& more) const;

 private:
  odb::query_base query_;  // if it has a condition and an order, a ')' stands between them
  bool has_condition_ = false;
  bool ordered_ = false;
};

/// Whether ODB's SELECT for the query reads other tables than `own` outside its sub-queries.
bool joins_tables(const odb::query_base& query, const entity_columns& entity, const std::string& own,
                  odb::database_id database);

}  // namespace dlock::detail
