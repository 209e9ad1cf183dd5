// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "simulation/database.hpp"
#include "simulation/sql_syntax.hpp"
#include "stores/sql/sql_connection.hpp"

namespace dlock::simulation::sql {

using value = std::variant<std::monostate /* NULL */, std::int64_t, std::string>;

/// A statement with its values, as it was sent.
struct call {
  std::shared_ptr<const statement> what{};
  std::map<std::string, value, std::less<>> values{};
  /// What the statement had read without a lock before it locked its rows; null: it reads the tables as they are.
  std::shared_ptr<const database::snapshot> then{};
  stores::sql::sql_rows rows{};  ///< select: the result
};

/// The parameter as the driver has it. Numbers above the greatest signed one keep their bits.
value value_of(const stores::sql::sql_value& from);

/// Executes it in one step. A row that exists already is error 1062.
reply execute(call& one, database& on, moment clock);

/// The key of the lock row that it changes or locks; empty: none.
std::string locked_key(const call& one);

}  // namespace dlock::simulation::sql
