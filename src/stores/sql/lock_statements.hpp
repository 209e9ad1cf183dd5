// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The statements about locks, each written once. Each kind of table has a dictionary, which gives these words:
///
/// - {table}; {rows}: the table of an UPDATE, by default {table}
/// - {row}: the condition that selects the lock
/// - {free}: the condition of a take
/// - {granted}: what a grant sets; {first}: the values of an inserted row; {taken_over}: what a take-over sets, by
///   default {granted}
/// - {as_seen}: the row has the holder and the grant that a poll has seen; {dead}: that holder is gone
/// - {owned}: the row names this attempt; {ours}: it names this grant
/// - {freed}: what a release sets; {free_row}: the statement of a release, by default an UPDATE that sets {freed}
/// - {extended}: what an extension sets; {in_time}: the lease has not ended
/// - {seen}: the columns of a poll; {seen_in}, {seen_row}: its tables, and {row} in them
/// - {find_waiter}: a condition that is always true, and makes the reply return the first waiter
/// - {verified}: what verify() sets, in a transaction of the application; {fence}
/// - {reserved}: what a reservation of fencing tokens sets
/// - {only_primary}, {returning}: the end of a statement that grants, by default nothing

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
  reserve,
  release_and_wake,
};

struct lock_template {
  const char* name;  ///< for messages
  const char* sql;
};

/// With placeholders and parameters.
const lock_template& template_of(lock_statement which) noexcept;

/// The defaults of words.
dictionary::word_list common_words() noexcept;

}  // namespace dlock::stores::sql
