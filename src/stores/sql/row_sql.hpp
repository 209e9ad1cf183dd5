// SPDX-License-Identifier: BSL-1.0
#pragma once

/// SQL about rows of the application's that are locked in place: what is the same in every database, and how a database
/// puts its own words into it.

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

/// Whether the fence is a separate column. Where grants are counted by the version column, ordinary updates raise it
/// while the row is held: then only the owner's text, which names session and attempt, identifies a grant.
inline bool has_own_fence(const row_table& table) noexcept {
  return !table.version.empty() && table.version != table.fence;
}

/// The files of sql/ that add lock columns, in the words of one database. They say which type each column has.
struct lock_column_files {
  std::string_view by_session;  ///< lock-columns-*.sql
  std::string_view by_column;   ///< expiring-lock-columns-*.sql
};
/// The columns that a table lacks which has none, each with its type, under the names that the table gives them.
std::vector<std::string> added_columns(const lock_column_files& files, const row_table& table);

/// Of a grant or an extension: 0 if its session keeps it.
inline microseconds own_ttl(const request& asked) noexcept {
  return asked.kind == lease_kind::session && asked.action != verb::extend ? microseconds{0} : asked.ttl;
}

/// What a statement about several tables has before each column: the table's name without its database.
std::string qualifier(const row_table& table, char quote);
/// The table with that before all its columns.
row_table qualified(const row_table& table, char quote);

/// The words in which a database's SQL about rows differs: about tables whose leases sessions keep, about those with a
/// shared expiry column, and about all.
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
  verify,
  sees,
  claim,
};
/// How many of them a connection prepares: those up to `poll`.
inline constexpr auto row_statement_count = static_cast<std::size_t>(row_statement::poll) + 1;
/// For messages.
const char* name_of(row_statement which) noexcept;
/// The one that does what is asked. Not of an insert: no row is made by being locked.
row_statement statement_for(const request& asked) noexcept;
/// A statement, with placeholders. The database gives as its words:
/// - {me}, {verified_me}: the holder in both of its forms; {my_fence}
/// - {row}: of a claim the condition that names all rows
/// - {next_fence_of_row}; {expiry} of a grant; {expired}, {in_time}; {freed_expiry}; {returning}
/// - {seen}, {seen_in}: columns and tables of `poll`
///
/// Those that are the same everywhere, such as {granted}, {free} or {ours}, are beside them in row_sql.cpp.
const char* source_of(row_statement which) noexcept;

/// What the templates say of a row: the table's {table}, {owner}, {expires_at}, {fence} and {version}, values that were
/// set, words, and names of the lock tables.
class row_text : public dictionary {
 public:
  /// All must outlive it.
  row_text(const row_table& table, const row_words& database, const table_names& names);

  row_text& set(std::string_view name, std::string value) {
    dictionary::set(name, std::move(value));
    return *this;
  }
  /// {row}, {me}, {verified_me} and {my_fence}: parameters, called id1, id2, ..., owner, verified_owner and fence.
  /// `before`: of the columns of the id.
  row_text& set_names(std::string_view before = "");
  /// {me} and {verified_me}: literals.
  row_text& set_holder(const row_holder& who);
  using dictionary::fill;
  std::string fill(row_statement which) const;

 private:
  const row_table& table_;
};

/// A statement of `text`, for which set_names() was called, and which parameters it has.
statement_text make_row_statement(const row_text& text, const row_table& table, row_statement which, marker marker);

// ---- statements about a grant for transactions of the application's -------------------------------------------------

/// A value as SQL text has it.
using literal_of = std::string(const verification::parameter&);

/// About a key: `text` has the parameters key, session and fence, and `more`.
verification about_key(const request& grant, std::string_view text, verification::parameter fence,
                       std::vector<named_value> more, literal_of* literal);
/// About a row: `text` has the parameters of row_text::set_names(); `ids` are the values of its id, in their order.
verification about_row(const request& grant, std::string_view text, const row_holder& who,
                       verification::parameter fence, std::vector<named_value> ids, literal_of* literal);

}  // namespace dlock::stores::sql
