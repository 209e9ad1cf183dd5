// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/lease_table/store.hpp"

#include <utility>

#include "floor_entity-odb-mysql.hxx"
#include "lock_entity-odb-mysql.hxx"
#include "session_entity-odb-mysql.hxx"

namespace dlock::stores::mysql::lease_table {

mysql_store::mysql_store(lease_settings settings)
    : settings_(std::move(settings)),
      sql_(sql::make_table_names<odb::id_mysql>(settings_.prefix, '`')),
      row_sql_(sql_.names(), settings_.database),
      client_(settings_, [this](std::string_view generated) { return sql_.names().adapt(generated); }),
      waiters_(client_, sql_.waiters(), [this](const std::string& why) { listeners_.waiters_poll(why); }) {
  sql::set_version_table(client_.database(), sql_.names());
}

}  // namespace dlock::stores::mysql::lease_table
