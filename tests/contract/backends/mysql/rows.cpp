// SPDX-License-Identifier: BSL-1.0
#include <fmt/format.h>

#include "contract/backends/mysql/fixtures.hpp"
#include "stores/sql/row_owner.hpp"

namespace dlock::test {

namespace {

std::string app_url() { return mysql_setting("DLOCK_TEST_MYSQL_APP_URL"); }

}  // namespace

mysql_application::mysql_application(const std::string& url, const std::string& time_zone) : raw(url) {
  raw.run("SET SESSION time_zone='" + time_zone + "', innodb_lock_wait_timeout=5");
}

std::uint64_t mysql_application::run(const std::string& sql) {
  try {
    return raw.run(sql);
  } catch (const std::runtime_error& e) {
    throw failed(e.what());
  }
}

std::vector<std::string> mysql_application::all(const std::string& sql) {
  try {
    std::vector<std::string> columns;
    for (const auto& row : raw.rows(sql)) columns.push_back(row.at(0).value_or(""));
    return columns;
  } catch (const std::runtime_error& e) {
    throw failed(e.what());
  }
}

std::optional<std::string> mysql_application::one(const std::string& sql) {
  try {
    const auto rows = raw.rows(sql);
    return rows.empty() ? std::nullopt : rows.at(0).at(0);
  } catch (const std::runtime_error& e) {
    throw failed(e.what());
  }
}

mysql_row_fixture::~mysql_row_fixture() {
  try {
    raw_mysql app(app_url());
    for (const auto& table : tables_) app.run("DROP TABLE IF EXISTS " + table);
  } catch (const std::exception& e) {
    WARN("tables of a test stay behind: " << e.what());
  }
}

std::string mysql_row_fixture::tables_id() const {
  const auto sql = "SELECT fence FROM `locks`." + locks.table("floor") + " WHERE id=4";
  return stores::sql::tables_id(std::stoull(raw_mysql::root().one(sql))).text();
}

std::shared_ptr<const row_table> mysql_row_fixture::make_table(const row_shape& shape) {
  const bool column = shape.renewal == row_renewal::column;
  const bool own_fence = !column && !shape.fence_is_version;
  auto table = std::make_shared<row_table>();
  table->label = locks.prefix() + "rows" + std::to_string(tables_.size());
  table->table = "`" + store_url::parse(app_url()).path + "`.`" + table->label + "`";
  table->owner = "`lock_owner`";
  table->expires_at = column ? "`lock_expire_time`" : "`lock_expires_at_us`";
  table->fence = own_fence ? "`lock_fence`" : "`version`";
  table->version = "`version`";
  table->renewal = shape.renewal;
  table->owner_not_null = shape.owner_not_null || column;
  constexpr const char* text = "VARCHAR(60) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL";
  std::string columns;
  switch (shape.id) {
    case row_id_kind::integer:
      table->id = {"`id`"};
      columns = "`id` BIGINT NOT NULL PRIMARY KEY";
      break;
    case row_id_kind::text:
      table->id = {"`id`"};
      columns = fmt::format("`id` {} PRIMARY KEY", text);
      break;
    case row_id_kind::composite:
      table->id = {"`region`", "`name`"};
      columns = fmt::format("`region` BIGINT NOT NULL, `name` {}, PRIMARY KEY (`region`, `name`)", text);
      break;
  }
  columns += ", payload INT NOT NULL DEFAULT 0, version INT NOT NULL DEFAULT 0";
  if (!shape.without_lock_columns) {
    columns += table->owner_not_null ? ", lock_owner VARCHAR(50) NOT NULL DEFAULT ''" : ", lock_owner VARCHAR(50) NULL";
    columns +=
        column ? ", lock_expire_time TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP" : ", lock_expires_at_us BIGINT NULL";
    if (own_fence) columns += ", lock_fence BIGINT UNSIGNED NOT NULL DEFAULT 0";
  }
  tables_.push_back(table->table);
  raw_mysql app(app_url());
  app.run(fmt::format("CREATE TABLE {} ({}) ENGINE=InnoDB", table->table, columns));
  return table;
}

std::unique_ptr<application> mysql_row_fixture::connect() { return std::make_unique<mysql_application>(app_url()); }

std::string mysql_row_fixture::literal(const std::string& text) const {
  std::string hex;
  for (const char c : text) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return "_utf8mb4 x'" + hex + "'";
}

std::string mysql_row_fixture::plain_take(const row_table& table, const std::string& condition,
                                          const std::string& owner, int seconds) const {
  return fmt::format(
      "update {0} set {1}='{2}', {3}=date_add(now(), interval {4} second), {5}={5}+1 where {6} and ({1}='' or "
      "{3}<now())",
      table.table, table.owner, owner, table.expires_at, seconds, table.fence, condition);
}

std::string mysql_row_fixture::plain_expiry(int seconds) const {
  return fmt::format("date_add(now(), interval {} second)", seconds);
}

std::string mysql_row_fixture::expiry(microseconds from_now) const {
  return fmt::format("TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))+({})", from_now.count());
}

std::unique_ptr<row_fixture> make_row_fixture() { return std::make_unique<mysql_row_fixture>(); }

}  // namespace dlock::test
