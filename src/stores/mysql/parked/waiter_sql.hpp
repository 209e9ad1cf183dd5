// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>

#include "stores/sql/table_names.hpp"

namespace dlock::stores::mysql::parked {

/// What is sent about waiters, to be filled in by sql::write_values().
struct waiter_sql {
  std::string table{};  ///< quoted
  /// Fails if the table lacks a column that the others need.
  std::string fits{};
  std::string enter{};
  std::string leave{};
  /// Of the keys for which this process has a row: the key, whether it is free, whether its holder is dead, and the
  /// fence (0: not known).
  std::string look{};
  std::string first{};  ///< waiters of keys
  std::string count{};
  std::string dead{};
  std::string one_dead{};
  std::string remove_dead{};
  /// By which circles of processes are found. Empty: none are.
  std::string set_held{};
  std::string nested{};
  std::string present_grants{};
  /// capabilities::others_release: that keys become free without a wake-up is nothing odd.
  bool others_release = false;
};

/// Of what follows an IN, without its brackets.
void append_literal(std::string& list, const std::string& literal);

/// {waiter}, {waiter.<column>} and {sleeper}.
void add_waiter_names(sql::table_names& to);

/// The statements that all stores have. `names` has those above, {now}, and what they need of the lock table:
/// {with_lock} joins it to the waiters `w`, {is_free} is a condition on it, {and_held} selects the column for circles.
/// `look` is the store's.
waiter_sql make_waiter_sql(const sql::table_names& names, const char* look);

}  // namespace dlock::stores::mysql::parked
