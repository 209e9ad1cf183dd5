// SPDX-License-Identifier: BSL-1.0
#include "stores/sql/optional_table.hpp"

#include "stores/sql/schema.hpp"

namespace dlock::stores::sql {

optional_table::optional_table(std::string_view file, const table_names& names, const char* making)
    : create_(create_statements(file, names)), making_(making) {}

bool optional_table::lacks(const fault& why) noexcept {
  constexpr int no_such_table = 1146;  // of MySQL; SQLite has no number for it
  return why.native == no_such_table || why.text.find("no such table") != std::string::npos;
}

bool optional_table::unused(const fault& why) noexcept {
  constexpr int database_denied = 1044, table_denied = 1142, column_denied = 1143;
  return lacks(why) || why.native == database_denied || why.native == table_denied || why.native == column_denied;
}

reply optional_table::make(sql_connection& on) const {
  reply answer{.result = outcome::yes, .statements = 0};
  for (const auto& statement : create_) {
    answer = on.change({statement, making_}, {});
    if (answer.result != outcome::yes && answer.result != outcome::no) break;
  }
  answer.statements = static_cast<unsigned>(create_.size());
  return answer;
}

}  // namespace dlock::stores::sql
