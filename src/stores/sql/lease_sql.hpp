// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The statements about lock tables that all databases share, each written once. A database supplies the words in which
/// its SQL differs, and may have further statements.

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "stores/sql/lock_statements.hpp"
#include "stores/sql/named_sql.hpp"

namespace dlock::stores::sql {

/// The statements that a connection prepares once and keeps.
enum class statement_id : unsigned char {
  take,
  insert,
  poll,
  take_over,
  extend,
  release,
  release_min_hold,
  cancel,
  pass_on,
  reserve,
  session_open,
  session_renew,
  session_remove_expired,
  session_close,
  revoke,  ///< MySQL sends it as text
  // Only SQLite:
  latest,
  poll_session,
  count_  // how many there are
};

/// The parameters of these statements and of those about rows of the application.
enum class parameter : unsigned char {
  key,
  session,
  nonce,
  fence,
  own_ttl,
  min_hold,
  holder,
  seen_fence,
  ttl,
  host,
  pid,
  label,
  count,
  // Only SQLite:
  now,
  boot,
  // For rows of the application:
  owner,
  verified_owner,
  seen_owner,
  seen_verified_owner,
  seen_session,
  expiry,   ///< SQLite: when the grant ends
  horizon,  ///< SQLite: the latest expiry that dlock can have written
  wake_id,  ///< MySQL: the process whose waiters a release does not wake
  id,       ///< the first column of the primary key, "id1"; the other columns follow
  count_
};
constexpr std::array<std::string_view, static_cast<std::size_t>(parameter::id)> parameter_names{"key",
                                                                                                "session",
                                                                                                "nonce",
                                                                                                "fence",
                                                                                                "own_ttl",
                                                                                                "min_hold",
                                                                                                "holder",
                                                                                                "seen_fence",
                                                                                                "ttl",
                                                                                                "host",
                                                                                                "pid",
                                                                                                "label",
                                                                                                "count",
                                                                                                "now",
                                                                                                "boot",
                                                                                                "owner",
                                                                                                "verified_owner",
                                                                                                "seen_owner",
                                                                                                "seen_verified_owner",
                                                                                                "seen_session",
                                                                                                "expiry",
                                                                                                "horizon",
                                                                                                "wake_id"};
/// The names of the parameters of statements about lock tables.
constexpr auto lock_parameters = std::span(parameter_names).first(static_cast<std::size_t>(parameter::owner));

/// The statements up to `revoke`, in the order of their ids.
std::vector<statement_source<statement_id>> shared_statements();
/// The text of one of them, with placeholders and parameters.
const char* source_of(statement_id which);

/// The words of the templates for keys in the tables of `names`, which must outlive it. `database`, whose lists come
/// first, has the words in which a database's SQL differs:
/// - {now}: the database's clock, in microseconds
/// - {next_fence}, {first_fence}: the fence of a grant, from the row's fence or from the floor
/// - {reserved_fence}: the row's fence after a reservation
/// - {unverified}: what a grant sets besides
/// - {only_primary}: a condition that refuses on a replica
/// - {lock_floor}, {returning}: the end of a statement that grants
/// - {greatest}, {if}: functions
/// - {seen_expiry}: columns of `poll`
/// - {boot}: the value in a session's row
/// - {connection}: a number that identifies the transaction that verifies
dictionary key_dictionary(std::vector<dictionary::word_list> database, const table_names& names);

/// Adds those words, {seen} and {holders} to `to`, for statements that are not about one key.
void add_words(table_names& to, dictionary::word_list database);

}  // namespace dlock::stores::sql
