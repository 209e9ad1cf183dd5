// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/lease_table/tables.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

#include "floor_entity-odb-mysql.hxx"
#include "lock_entity-odb-mysql.hxx"
#include "session_entity-odb-mysql.hxx"
#include "stores/mysql/client/errors.hpp"

namespace dlock::stores::mysql::lease_table {

lease_tables::lease_tables(lease_settings from)
    : settings(std::move(from)),
      sql(sql::make_table_names<odb::id_mysql>(settings.prefix, '`')),
      row_sql(sql.names(), settings.database),
      client(settings, [this](std::string_view generated) { return sql.names().adapt(generated); }),
      waiters(client, sql.waiters(), [this](const std::string& why) {
        if (settings.wake) listeners.waiters_poll(why);  // otherwise they are meant to
      }) {
  sql::set_version_table(client.database(), sql.names());
}

std::string no_tables_id(const std::string& floor_table) {
  return fmt::format(
      "table {} has no row with id {}, which says what these lock tables are called in rows: open the store with "
      "schema=create to repair it",
      floor_table, sql::tables_id::floor_row);
}

reply lease_tables::read_id(lease_connection& with) {
  if (row_sql.tables().known()) return {.result = outcome::yes};
  mysql_rows rows;
  auto answer = with.read(row_sql.read_tables_id(), "reading the id of the lock tables", rows);
  if (answer.result == outcome::unknown) answer.result = outcome::failed;  // a read
  if (answer.result != outcome::yes) return answer;
  if (rows.empty()) return {.why = make_own_fault(no_tables_id(sql.names().table("floor")))};
  row_sql.tables(sql::tables_id(std::strtoull(rows.at(0).at(0).value_or("0").c_str(), nullptr, 10)));
  return answer;
}

}  // namespace dlock::stores::mysql::lease_table
