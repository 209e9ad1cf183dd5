// SPDX-License-Identifier: BSL-1.0
#include "odb/rows/row_fixture.hpp"
//
#include <unistd.h>

#include <odb/connection.hxx>
#include <odb/mysql/connection-factory.hxx>
#include <odb/mysql/connection.hxx>
#include <odb/mysql/database.hxx>
#include <odb/schema-catalog.hxx>

#include "dlock/stores/mysql.hpp"
#include "support/mysql_fixture.hpp"
#include "support/mysql_global_setting.hpp"
#include "support/test.hpp"

namespace dlock::test {

namespace {

/// The pool of an application that heeds docs/operations.md: with MySQL's client library it names its character set
/// itself.
class pool_factory final : public odb::mysql::connection_pool_factory {
 public:
  explicit pool_factory(std::string charset) : charset_(std::move(charset)) {}

 private:
  pooled_connection_ptr create() override {
    auto connection = connection_pool_factory::create();
#ifndef MARIADB_PACKAGE_VERSION
    connection->execute("SET NAMES " + charset_);
#endif
    return connection;
  }
  const std::string charset_;
};

std::unique_ptr<odb::mysql::database> open(const std::string& schema) {
  const auto url = store_url::parse(mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL"));
  const auto socket = url.params.find("socket");
  const bool local = socket != url.params.end();
  const auto host = url.hosts.empty() ? std::string() : url.hosts.front().host;
  const unsigned port = url.hosts.empty() ? 0 : url.hosts.front().port;
  return std::make_unique<odb::mysql::database>(url.user, url.password, schema, local ? "" : host, local ? 0 : port,
                                                local ? &socket->second : nullptr, "utf8mb4", 0,
                                                std::make_unique<pool_factory>("utf8mb4"));
}

/// The tables lie in a database of their own on the server of the locks.
class mysql_row_fixture final : public row_fixture {
 public:
  mysql_row_fixture() {
    auto root = raw_mysql::root();
    auto user = raw_mysql(mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL")).one("SELECT CURRENT_USER()");
    user.insert(user.rfind('@') + 1, "'").insert(user.rfind('@'), "'");
    root.run("CREATE DATABASE " + schema_ + " CHARACTER SET utf8mb4");
    root.run("GRANT ALL ON " + schema_ + ".* TO '" + user + "'");
    db_ = open(schema_);
    odb::transaction in(db_->begin());
    odb::schema_catalog::create_schema(*db_);
    in.commit();
  }
  ~mysql_row_fixture() override {
    db_.reset();
    raw_mysql::root().run("DROP DATABASE " + schema_);
  }

  odb::database& db() override { return *db_; }
  std::string url() const override { return locks_.url(); }
  std::unique_ptr<odb::database> elsewhere() override { return nullptr; }
  std::unique_ptr<odb::database> through(std::uint16_t port, const std::string& charset) override {
    const auto url = store_url::parse(mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL"));
    return std::make_unique<odb::mysql::database>(url.user, url.password, schema_, "127.0.0.1", port, nullptr, charset,
                                                  0, std::make_unique<pool_factory>(charset));
  }
  std::string prefix() const override { return "locks." + locks_.prefix(); }
  std::vector<std::vector<std::string>> select(const std::string& sql) override {
    auto root = raw_mysql::root();
    root.run("USE " + schema_);
    std::vector<std::vector<std::string>> rows;
    for (const auto& row : root.rows(sql)) {
      auto& to = rows.emplace_back();
      for (const auto& each : row) to.push_back(each.value_or(""));
    }
    return rows;
  }
  std::uint64_t execute(odb::connection& connection, const verification& check) override {
    const std::unique_ptr<MYSQL_STMT, decltype(&mysql_stmt_close)> statement(
        mysql_stmt_init(static_cast<odb::mysql::connection&>(connection).handle()), mysql_stmt_close);
    REQUIRE(mysql_stmt_prepare(statement.get(), check.sql.data(), check.sql.size()) == 0);
    auto values = check.parameters;
    std::vector<MYSQL_BIND> binds(values.size());
    for (std::size_t i = 0; i != values.size(); ++i) {
      auto& to = binds[i];
      if (auto* const number = std::get_if<std::int64_t>(&values[i])) {
        to.buffer_type = MYSQL_TYPE_LONGLONG;
        to.buffer = number;
      } else if (auto* const fence = std::get_if<std::uint64_t>(&values[i])) {
        to.buffer_type = MYSQL_TYPE_LONGLONG;
        to.buffer = fence;
        to.is_unsigned = 1;
      } else {
        auto* const text = std::get_if<std::string>(&values[i]);
        auto& bytes = text != nullptr ? *text : std::get<verification::bytes>(values[i]).value;
        to.buffer_type = text != nullptr ? MYSQL_TYPE_STRING : MYSQL_TYPE_BLOB;
        to.buffer = bytes.data();
        to.buffer_length = bytes.size();
      }
    }
    REQUIRE(mysql_stmt_bind_param(statement.get(), binds.data()) == 0);
    REQUIRE(mysql_stmt_execute(statement.get()) == 0);
    return mysql_stmt_affected_rows(statement.get());
  }
  void watch() override {
    table_.emplace("log_output", "'TABLE'");
    log_.emplace("general_log", "1");
    static_cast<void>(sent());
  }
  std::vector<std::string> sent() override {
    auto root = raw_mysql::root();
    const auto rows = root.rows(
        "SELECT argument FROM mysql.general_log WHERE command_type IN ('Query','Execute') AND thread_id IN (SELECT id "
        "FROM "
        "information_schema.processlist WHERE db='" +
        schema_ + "') ORDER BY event_time");
    std::vector<std::string> all;
    for (const auto& row : rows) all.push_back(row.at(0).value_or(""));
    all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(seen_, all.size())));
    seen_ += all.size();
    return all;
  }
  bool is_sqlite() const override { return false; }
  bool locks_joined_rows() const override { return raw_mysql::root().is_mariadb(); }
  std::string time_from_now(int seconds) const override {
    return "now() + INTERVAL " + std::to_string(seconds) + " SECOND";
  }

 private:
  static std::string next_schema() {
    static std::atomic<int> count{0};
    return "dlock_rows_" + std::to_string(::getpid()) + "_" + std::to_string(++count);
  }

  mysql_fixture locks_;
  std::optional<global_setting> table_{};
  std::optional<global_setting> log_{};
  std::size_t seen_ = 0;
  const std::string schema_ = next_schema();
  std::unique_ptr<odb::mysql::database> db_;
};

}  // namespace

std::unique_ptr<row_fixture> make_row_fixture() { return std::make_unique<mysql_row_fixture>(); }

}  // namespace dlock::test
