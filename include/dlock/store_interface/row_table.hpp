// SPDX-License-Identifier: BSL-1.0
#pragma once

/// A table of the application's whose rows are locked in place, as stores see it. Applications don't fill these in:
/// dlock/odb/ makes them from mapped classes.

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

/// What a column's texts are in the database.
struct text_column {
  std::string charset{};  ///< "binary": bytes; empty: it holds no text, or nothing is known
  std::string collation{};
};

/// Names are as SQL text has them, quoted. Immutable once a key points to it.
struct row_table {
  std::string table{};            ///< with its database where the store's own connections need that
  std::string label{};            ///< the unquoted table name: begins the keys of its rows
  std::vector<std::string> id{};  ///< the columns of the primary key, in the order of row_id::values
  /// MySQL: those columns, as many as `id`; or none: texts of any character set.
  std::vector<text_column> id_text{};
  std::string charset{};  ///< MySQL: of the texts in row_id::values; empty: UTF-8
  std::string owner{};    ///< text of at least 50 characters: "<session>/<nonce>" in hex; NULL or '': free
  /// row_renewal::session: microseconds, BIGINT NULL, where NULL means kept by the session. column: a TIMESTAMP NOT
  /// NULL.
  std::string expires_at{};
  std::string fence{};  ///< BIGINT, +1 at each grant; the version column where a table has no other
  std::string
      version{};  ///< raised at each grant, so that copies loaded before are stale; empty: none, or the fence is it
  row_renewal renewal = row_renewal::session;
  bool owner_not_null = false;  ///< a free row has the owner ''; otherwise NULL
};

/// One row.
struct row_id {
  std::shared_ptr<const row_table> table{};
  std::vector<row_value> values{};  ///< as many as table->id
};

}  // namespace dlock
