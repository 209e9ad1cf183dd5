// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The statements about lock tables that all databases have, each written once. A database gives the words in which its
/// SQL differs, and has further statements beside these.

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
  session_open,
  session_renew,
  session_remove_expired,
  session_close,
  revoke,  ///< MySQL sends it as text
  // Of SQLite alone:
  latest,
  poll_session,
  count_  // how many there are
};

/// What they, and statements about rows of the application's, have as parameters, and under which names.
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
  // Of SQLite alone:
  now,
  boot,
  // Of rows of the application's:
  owner,
  verified_owner,
  seen_owner,
  seen_verified_owner,
  seen_session,
  expiry,   ///< SQLite: when the grant ends
  horizon,  ///< SQLite: no expiry of ours can be later
  id,       ///< the first column of the primary key: "id1"; those after it are the others
  count_
};
constexpr std::array<std::string_view, static_cast<std::size_t>(parameter::id)> parameter_names{
    "key",          "session",    "nonce",  "fence",          "own_ttl",    "min_hold",
    "holder",       "seen_fence", "ttl",    "host",           "pid",        "label",
    "now",          "boot",       "owner",  "verified_owner", "seen_owner", "seen_verified_owner",
    "seen_session", "expiry",     "horizon"};
/// Of those, the names that statements about lock tables have.
constexpr auto lock_parameters = std::span(parameter_names).first(static_cast<std::size_t>(parameter::owner));

/// The first of these statements, up to `revoke`, in the order of their ids.
std::vector<statement_source<statement_id>> shared_statements();
/// The text of such a statement, with placeholders and parameters.
const char* source_of(statement_id which);

/// What the templates say of a key, in the tables of these names, which must outlive it. `database`, whose lists come
/// first, has the words in which a database's SQL differs:
/// - {now}: the database's clock, in microseconds
/// - {next_fence}, {first_fence}: the fence of a grant, from the row's fence or from the floor
/// - {unverified}: what else a grant sets
/// - {only_primary}: a condition that refuses on a replica
/// - {lock_floor}, {returning}: what a statement that grants ends with
/// - {greatest}, {if}: functions
/// - {seen_expiry}: columns of `poll`
/// - {boot}: for a session's row
/// - {connection}: a number of the transaction that verifies
dictionary key_dictionary(std::vector<dictionary::word_list> database, const table_names& names);

/// Adds those words, {seen} and {holders} as names, for statements that are not about one key.
void add_words(table_names& to, dictionary::word_list database);

}  // namespace dlock::stores::sql
