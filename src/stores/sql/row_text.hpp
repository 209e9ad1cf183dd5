// SPDX-License-Identifier: BSL-1.0
#pragma once

/// SQL about rows of the application that are locked in place: its templates, and the words that they are filled with.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dlock/store_interface/row_table.hpp"
#include "stores/sql/lock_statements.hpp"
#include "stores/sql/named_sql.hpp"
#include "stores/sql/row_owner.hpp"

namespace dlock::stores::sql {

inline bool by_column(const row_table& table) noexcept { return table.renewal == row_renewal::column; }

/// Whether the fence is a separate column. If the version column counts grants, ordinary updates raise it while the row
/// is held, so only the owner's text, which names session and attempt, identifies a grant.
inline bool has_own_fence(const row_table& table) noexcept {
  return !table.version.empty() && table.version != table.fence;
}

/// The files of sql/ that add lock columns in one database. They define each column's type.
struct lock_column_files {
  std::string_view by_session;  ///< lock-columns-*.sql
  std::string_view by_column;   ///< expiring-lock-columns-*.sql
};
/// The lock columns for a table without any, each with its type, under the names that the table gives them.
std::vector<std::string> added_columns(const lock_column_files& files, const row_table& table);

/// The ttl of a grant or an extension, 0 if its session keeps the lease.
inline microseconds own_ttl(const request& asked) noexcept {
  return asked.kind == lease_kind::session && asked.action != verb::extend ? microseconds{0} : asked.ttl;
}

/// The prefix of columns in a statement about several tables: the table's name without its database.
std::string qualifier(const row_table& table, char quote);
/// The table with that prefix, or another one, before all its columns.
row_table qualified(const row_table& table, std::string_view before);

/// The words in which a database's SQL about rows differs: for tables whose leases sessions keep, for those with a
/// shared expiry column, and for all.
struct row_words {
  dictionary::word_list by_session;
  dictionary::word_list by_column;
  dictionary::word_list all;
};

enum class row_statement : unsigned char {
  take,
  take_over,
  take_over_foreign,
  extend,
  release,
  cancel,
  poll,
  release_and_wake,  ///< only MySQL: also finds the first waiter
  verify,
  sees,
  claim,
};
/// A connection prepares the statements up to `release_and_wake`.
inline constexpr auto row_statement_count = static_cast<std::size_t>(row_statement::release_and_wake) + 1;
/// For messages.
const char* name_of(row_statement which) noexcept;
/// The statement for a request other than an insert: locking never creates a row.
row_statement statement_for(const request& asked) noexcept;
/// A statement with placeholders. The database supplies these words:
/// - {next_fence_of_row}, and {raised_fence}, which no answer makes known; {expired}, {in_time}; {returning}
/// - {expiry} of a grant, {freed_expiry}
/// - {seen}, {seen_in}: columns and tables of `poll`
/// - {holder}, {holder_in}: the same for operators (lease_admin); {free_from}, {remaining}: times of an expiry
/// - {owner_of_session}: what the owner's text says of the id of its session; {session_name}: the same of a session
/// - {of_our_tables}, {session_gone}: the owner names a session in these lock tables, which is not alive
///
/// row_sql sets {me}, {verified_me}, the holder in both of its forms, {my_fence}, {row} and {tables}. Words that are
/// the same everywhere, such as {granted}, {free} or {ours}, are in row_text.cpp.
const char* source_of(row_statement which) noexcept;

/// The dictionary for a row: the table's {table}, {owner}, {expires_at}, {fence} and {version}, values that were set,
/// words, and names of the lock tables.
class row_text : public dictionary {
 public:
  /// The words and names must outlive it.
  row_text(const row_table& table, const row_words& database, const table_names& names);

  row_text& set(std::string_view name, std::string value) {
    dictionary::set(name, std::move(value));
    return *this;
  }
  /// Sets {row}, {me}, {verified_me} and {my_fence} to the parameters id1, id2, ..., owner, verified_owner and fence.
  row_text& set_names();
  /// Sets {me} and {verified_me} to literals.
  row_text& set_holder(const row_holder& who);
  using dictionary::fill;
  std::string fill(row_statement which) const;
  /// Makes a statement and its parameters. Precondition: set_names() was called.
  statement_text make(row_statement which, marker marker) const;

  /// The columns of the primary key.
  const std::vector<std::string>& ids() const noexcept { return ids_; }

 private:
  std::vector<std::string> ids_;
};

}  // namespace dlock::stores::sql
