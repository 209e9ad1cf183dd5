// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The statements about locks, each written once. A kind of table is a dictionary, which says what their words mean:
///
/// - {table}; {rows}: what an UPDATE changes, {table} if nothing else is said
/// - {row}: the condition that names the lock
/// - {free}: a take may have it
/// - {granted}: what a grant sets; {first}: the same of a row that is inserted; {taken_over}: of a take-over, {granted}
///   if nothing else is said
/// - {as_seen}: the holder and the grant that a poll has seen; {dead}: that holder is gone
/// - {owned}: the row names this attempt; {ours}: it names this grant
/// - {freed}: what a release sets; {free_row}: what it does, an UPDATE that sets {freed} if nothing else is said
/// - {extended}: what an extension sets; {in_time}: the lease has not ended
/// - {seen}: the columns of a poll; {seen_in}, {seen_row}: its tables, and {row} there
/// - {verified}: what verify() sets, in a transaction of the application's; {fence}
/// - {only_primary}, {returning}: what a statement that grants ends with; nothing if nothing else is said

#include <string_view>

#include "stores/sql/named_sql.hpp"

namespace dlock::stores::sql {

enum class lock_statement : unsigned char {
  take,
  insert,
  poll,
  take_over,
  extend,
  release,
  cancel,
  pass_on,
  verify,
  granted_fence,
  ask_for_row,
};

struct lock_template {
  const char* name;  ///< for messages
  const char* sql;
};

/// With placeholders and parameters.
const lock_template& template_of(lock_statement which) noexcept;

/// Words that most kinds of tables do not say.
dictionary::word_list common_words() noexcept;

}  // namespace dlock::stores::sql
