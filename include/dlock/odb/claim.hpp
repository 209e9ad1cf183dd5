// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Work queues: free rows that a query selects, locked and loaded together.
///
///   for (auto& row : dlock::claim<order>(locks, db, query::status == "paid", 20)) {
///     row->status = "shipped";
///     row.commit();
///   }

#include "dlock/odb/locked_row.hpp"
//
#include <odb/query-dynamic.hxx>
#include <odb/result.hxx>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "dlock/export.hpp"
#include "dlock/odb/detail/entity_members.hpp"

namespace DLOCK_EXPORT dlock {

namespace detail {

struct claimed_row {
  std::vector<row_value> id{};
  std::uint64_t fence = 0;
  std::shared_ptr<void> entity{};
  lease held{};
};

/// What only the caller's templates can do, in the current transaction.
struct row_reader {
  std::function<std::vector<std::vector<row_value>>(const odb::query_base&)> ids;
  std::function<std::vector<claimed_row>(const odb::query_base&)> rows;
};

DLOCK_EXPORT std::vector<claimed_row> claim_rows(lock_service& service, odb::database& db, const row_class& entity,
                                                 const odb::query_base& query, std::size_t most,
                                                 const lock_options& options, const row_reader& read);

template <class T>
row_reader row_reader_of(odb::database& db) {
  row_reader reader;
  reader.ids = [&db](const odb::query_base& condition) {
    std::vector<std::vector<row_value>> ids;
    auto found = db.query<T>(condition);
    for (auto at = found.begin(); at != found.end(); ++at) ids.push_back(row_values(at.id()));
    return ids;
  };
  reader.rows = [&db](const odb::query_base& condition) {
    std::vector<claimed_row> rows;
    auto found = db.query<T>(condition);
    for (auto at = found.begin(); at != found.end(); ++at) {
      const std::shared_ptr<T> entity(at.load());
      rows.push_back({.id = row_values(at.id()), .fence = entity_fence(*entity), .entity = entity});
    }
    return rows;
  };
  return reader;
}

}  // namespace detail

/// Locks up to `most` (1 to 500) free rows that `query` selects and loads them, in the query's order where it ends in
/// ORDER BY; it may have a condition and that, no more. Never waits for a row: those that others hold, or have locked
/// in a transaction, are passed over, so fewer rows, or none, may come although more match. If fewer came, rows whose
/// holders are dead are tried one by one.
///
/// All are taken in one transaction: if anything fails, nothing stays locked. A row that a dead process had claimed is
/// given to the next claim after the ttl, so work may be begun twice, but commit() succeeds for one of them: undo and
/// error handling must go through commit() or update() as well, or they happen to a row that is another's by then.
///
/// Errors: std::invalid_argument, as row(), and for `most`, a query or an option that won't do; lock_refused (closed,
/// forked); store_error.
/// Cost: BEGIN, three statements (one, if nothing is free), COMMIT, for any number of rows; if fewer than `most` came,
/// one more SELECT in a transaction, and an acquire and a load for each row of a dead holder. An index for the
/// condition and the order keeps other claims from finding rows locked that no claim takes.
template <class T>
std::vector<locked_row<T>> claim(lock_service& service, odb::database& db, const odb::query_base& query,
                                 std::size_t most, const lock_options& options = {}) {
  std::vector<locked_row<T>> claimed;
  if constexpr (detail::check_lockable<T>()) {
    auto rows =
        detail::claim_rows(service, db, detail::row_class_of<T>(), query, most, options, detail::row_reader_of<T>(db));
    for (auto& row : rows) {
      claimed.push_back(detail::row_maker::make<T>(db, std::move(row.held), std::static_pointer_cast<T>(row.entity)));
    }
  }
  return claimed;
}

}  // namespace dlock
