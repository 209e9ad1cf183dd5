// SPDX-License-Identifier: GPL-2.0-or-later
#include "stores/mysql/lease_table/store.hpp"

#include <utility>

#include "dlock/stores/mysql.hpp"
#include "floor_entity-odb-mysql.hxx"
#include "lock_entity-odb-mysql.hxx"
#include "session_entity-odb-mysql.hxx"

namespace dlock::stores::mysql::lease_table {

mysql_store::mysql_store(lease_settings settings)
    : settings_(std::move(settings)),
      sql_(sql::make_table_names<odb::id_mysql>(settings_.prefix, '`')),
      row_sql_(sql_.names(), settings_.database),
      client_(settings_, [this](std::string_view generated) { return sql_.names().adapt(generated); }) {
  sql::set_version_table(client_.database(), sql_.names());
}

}  // namespace dlock::stores::mysql::lease_table

namespace dlock::stores {

std::shared_ptr<store> open_mysql(store_url url) {
  return std::make_shared<mysql::lease_table::mysql_store>(mysql::lease_table::lease_settings::parse(std::move(url)));
}

}  // namespace dlock::stores
