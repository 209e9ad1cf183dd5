// SPDX-License-Identifier: BSL-1.0
#pragma once

/// A table of the application whose rows are locked in place, for stores. Applications don't fill these in: dlock/odb/
/// makes them from mapped classes.

#include "dlock/detail/cxx20.hpp"
//
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "dlock/export.hpp"

namespace DLOCK_EXPORT dlock {

/// One column's value of a primary key.
using row_value = std::variant<std::int64_t, std::uint64_t, std::string>;

/// What keeps a row's lease alive.
enum class row_renewal {
  session,  ///< the holder's session, as for keys: renewal writes no row of the application
  column,   ///< the row's own expiry column, which is renewed: for tables shared with programs that know only that
};

/// The texts of a column in the database.
struct text_column {
  std::string charset{};  ///< "binary" for bytes; empty if it holds no text, or is unknown
  std::string collation{};
};

/// Names are quoted, as in SQL text. Immutable once a key points to it.
struct row_table {
  std::string table{};            ///< with its database where the store's own connections need that
  std::string label{};            ///< the unquoted table name: begins the keys of its rows
  std::vector<std::string> id{};  ///< the columns of the primary key, in the order of row_id::values
  /// MySQL: the texts of these columns, as many as `id`; or none, for texts of any character set.
  std::vector<text_column> id_text{};
  std::string charset{};  ///< MySQL: the character set of the texts in row_id::values; empty for UTF-8
  std::string owner{};    ///< text of at least 50 characters: "<session>/<nonce>" in hex; NULL or '' if the row is free
  /// row_renewal::session: microseconds, BIGINT NULL, where NULL means kept by the session. column: a TIMESTAMP NOT
  /// NULL.
  std::string expires_at{};
  std::string fence{};  ///< BIGINT, +1 at each grant; the version column where a table has no other
  std::string
      version{};  ///< raised at each grant, so that older copies are stale; empty if there is none, or the fence is it
  row_renewal renewal = row_renewal::session;
  bool owner_not_null = false;  ///< a free row has the owner ''; otherwise NULL
};

/// One row.
struct row_id {
  std::shared_ptr<const row_table> table{};
  std::vector<row_value> values{};  ///< as many as table->id
};

}  // namespace dlock
