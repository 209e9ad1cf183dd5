// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlock/detail/odb_compat.hpp>
//
#include <odb/transaction.hxx>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace dlock::detail {

/// The names, quoted, of the columns that a statement's last condition compares with one parameter each: "WHERE
/// `t`.`a`=? AND `t`.`b`=?". Empty: it has another form.
std::vector<std::string> compared_columns(std::string_view statement);

/// Whether a SELECT reads several tables; those of its sub-queries are not meant.
bool joins_tables(std::string_view statement);

/// Shows each statement that ODB is about to execute in a transaction to `see`, which may throw: then it is not
/// executed.
void before_each(odb::transaction& in, const std::function<void(std::string_view)>& see,
                 const std::function<void()>& work);

}  // namespace dlock::detail
