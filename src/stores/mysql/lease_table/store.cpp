// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/lease_table/store.hpp"

#include <utility>

#include "floor_entity-odb-mysql.hxx"
#include "lock_entity-odb-mysql.hxx"
#include "session_entity-odb-mysql.hxx"
#include "waiter_entity-odb-mysql.hxx"

namespace dlock::stores::mysql::lease_table {

namespace {

sql::table_names table_names(const std::string& prefix) {
  using traits = odb::access::object_traits_impl<entities::waiter_entity, odb::id_mysql>;
  using waiter = odb::query_columns<entities::waiter_entity, odb::id_mysql, traits>;
  auto names = sql::make_table_names<odb::id_mysql>(prefix, '`');
  names.add_table("waiter", traits::table_name);
  names.add_column("waiter.lock_key", waiter::place.lock_key.column());
  names.add_column("waiter.since_us", waiter::place.since_us.column());
  names.add_column("waiter.bell", waiter::place.bell.column());
  names.add_column("waiter.session_id", waiter::session_id.column());
  return names;
}

}  // namespace

mysql_store::mysql_store(lease_settings settings)
    : settings_(std::move(settings)),
      sql_(table_names(settings_.prefix)),
      row_sql_(sql_.names(), settings_.database),
      client_(settings_, [this](std::string_view generated) { return sql_.names().adapt(generated); }),
      waiters_(client_, sql_, [this](const std::string& why) { listeners_.waiters_poll(why); }) {
  sql::set_version_table(client_.database(), sql_.names());
}

}  // namespace dlock::stores::mysql::lease_table
