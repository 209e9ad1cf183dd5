// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "stores/mysql/client/statement.hpp"
#include "stores/mysql/lease_table/row_sql.hpp"
#include "stores/sql/row_text.hpp"
#include "stores/sql/statement_values.hpp"

namespace dlock::test {

/// The statement for a request about a row, with its values written in.
inline std::string text_of(const stores::mysql::lease_table::mysql_row_sql& sql, const request& asked) {
  const auto text = sql.with_id(stores::sql::statement_for(asked), *asked.row);
  const stores::sql::request_values values(asked, sql.tables());
  std::vector<stores::mysql::mysql_field> fields;
  stores::mysql::lease_table::set_fields(fields, text, values);
  return stores::mysql::mysql_statement(text.sql, text.name, std::move(fields)).written_out();
}

}  // namespace dlock::test
