// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The statements about lock tables that all databases have, each written once. A database gives the words in which its
/// SQL differs, and has further statements beside these.

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

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
  sweep_sessions,
  sweep_session,
  sweep_keys,
  sweep_floor,
  sweep_key,
  count_  // how many there are
};

/// What they have as parameters, and under which names.
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
  idle,
  most,
  after,
  count_
};
constexpr std::array<std::string_view, static_cast<std::size_t>(parameter::count_)> parameter_names{
    "key",  "session", "nonce", "fence", "own_ttl", "min_hold", "holder", "seen_fence", "ttl",
    "host", "pid",     "label", "now",   "boot",    "idle",     "most",   "after"};

/// The first of these statements, up to `revoke`, in the order of their ids.
std::span<const statement_source<statement_id>> shared_statements() noexcept;
/// The text of such a statement, with the names of tables and parameters still in it: for callers that fill in values.
const char* source_of(statement_id which) noexcept;
/// Likewise, of verify(): its parameters are key, session and fence.
const char* verify_source() noexcept;

/// Adds the placeholders that those texts have. `words`, each of which may use those before it, are:
/// - {now}: the database's clock, in microseconds
/// - {next_fence}, {first_fence}: the fence of a grant, from the row's fence or from the floor
/// - {unverified}: what else a grant sets
/// - {only_primary}: a condition that refuses on a replica
/// - {lock_floor}, {returning}: what a statement that grants ends with
/// - {greatest}, {if}: functions
/// - {seen_expiry}: columns of `poll`
/// - {boot}: for a session's row
/// - {connection}: a number of the transaction that verifies
/// Adds {grant}, {seen} and {holders}, which those statements and a database's own are made of.
void add_words(table_names& to, std::span<const named_part> words);

/// What {grant} stands for, with another expression for the nonce.
std::string grant_with_nonce(const table_names& names, std::string_view nonce);

}  // namespace dlock::stores::sql
