// SPDX-License-Identifier: BSL-1.0
#include <fmt/format.h>
#include <sqlite3.h>

#include "contract/backends/sqlite/file_fixture.hpp"
#include "contract/row/row_contract.hpp"
#include "dlock/stores/sqlite.hpp"
#include "stores/sql/application_database.hpp"
#include "stores/sql/row_owner.hpp"
#include "stores/sqlite/sqlite_machine.hpp"
#include "support/raw_sqlite.hpp"
#include "support/scratch_folder.hpp"

namespace dlock::test {

namespace {

class sqlite_application final : public application {
 public:
  explicit sqlite_application(const std::string& path) : client_(path) {}

  std::uint64_t run(const std::string& sql) override {
    return guarded([&] {
      client_.run(sql);
      return static_cast<std::uint64_t>(client_.changes());
    });
  }
  std::optional<std::string> one(const std::string& sql) override {
    const auto found = values(sql);
    return found.empty() ? std::nullopt : found.front();
  }
  std::vector<std::string> all(const std::string& sql) override {
    std::vector<std::string> columns;
    for (const auto& value : values(sql)) columns.push_back(value.value_or(""));
    return columns;
  }
  void begin() override { run("BEGIN IMMEDIATE"); }

 private:
  std::vector<std::optional<std::string>> values(const std::string& sql) {
    return guarded([&] { return client_.column(sql); });
  }
  template <class Call>
  static std::invoke_result_t<Call> guarded(Call call) {
    try {
      return call();
    } catch (const std::runtime_error& e) {
      throw failed(e.what());
    }
  }

  raw_sqlite client_;
};

#ifndef DLOCK_TEST_ENCODING
#define DLOCK_TEST_ENCODING "UTF-8"
#endif

class sqlite_row_fixture final : public row_fixture {
 public:
  sqlite_row_fixture() { make_sqlite_file(path_, DLOCK_TEST_ENCODING); }
  std::string url() const override { return "sqlite:" + path_; }
  std::shared_ptr<store> open() override { return clock_.open(url()); }
  void stop_clock() override { clock_.stop(); }
  void pass(microseconds time) override { clock_.pass(time); }
  std::unique_ptr<application> connect() override { return std::make_unique<sqlite_application>(path_); }
  bool locks_rows() const override { return false; }
  std::size_t held_by_waiters() override { return held_by_waiters_of(path_); }
  std::string tables_id() const override {
    return stores::sql::tables_id(std::stoull(raw_sqlite(path_).text("SELECT fence FROM dlock_floor WHERE id = 4")))
        .text();
  }
  std::shared_ptr<store> open_other_tables() override { return clock_.open("sqlite:" + path_ + "?prefix=other_"); }

  std::string literal(const std::string& text) const override {
    std::string quoted = "'";
    for (const char c : text) quoted.append(c == '\'' ? 2 : 1, c);
    return quoted + "'";
  }
  std::string plain_take(const row_table& table, const std::string& condition, const std::string& owner,
                         int seconds) const override {
    return fmt::format(
        "UPDATE {0} SET {1} = '{2}', {3} = {4}, version = version + 1 WHERE {5} AND ({1} = '' OR {3} < {6})",
        table.table, table.owner, owner, table.expires_at, plain_expiry(seconds), condition, "datetime('now')");
  }
  std::string plain_expiry(int seconds) const override {
    return fmt::format("datetime('now', '{:+} seconds')", seconds);
  }
  std::string expiry(microseconds from_now) const override {
    raw_sqlite file(path_);
    const auto epoch = std::stoll(file.text("SELECT fence FROM dlock_floor WHERE id = 3"));
    return fmt::to_string((boot_clock::now().time_since_epoch() + from_now).count() + epoch);
  }

  std::shared_ptr<const row_table> make_table(const row_shape& shape) override {
    row_table table;
    table.label = fmt::format("order {}", ++tables_);  // a name that needs its quotation marks
    table.table = '"' + table.label + '"';
    const bool column = shape.renewal == row_renewal::column;
    table.renewal = shape.renewal;
    table.owner_not_null = shape.owner_not_null || column;
    table.owner = "\"lock_owner\"";
    table.expires_at = column ? "\"lock_expire_time\"" : "\"lock_expires_at_us\"";
    const bool version_counts = shape.fence_is_version || column;
    table.fence = version_counts ? "\"version\"" : "\"lock_fence\"";
    table.version = "\"version\"";
    table.id = shape.id == row_id_kind::composite ? std::vector<std::string>{"\"region\"", "\"name\""}
                                                  : std::vector<std::string>{"\"id\""};
    create(table, shape, column, version_counts);
    return std::make_shared<const row_table>(std::move(table));
  }

 private:
  void create(const row_table& table, const row_shape& shape, bool column, bool version_counts) {
    std::string columns = "payload INTEGER NOT NULL DEFAULT 0, version INTEGER NOT NULL DEFAULT 0";
    if (!shape.without_lock_columns) {
      columns += ", lock_owner TEXT";
      if (table.owner_not_null) columns += " NOT NULL DEFAULT ''";
      columns += column ? ", lock_expire_time TIMESTAMP NOT NULL DEFAULT '1970-01-01 00:00:00'"
                        : ", lock_expires_at_us INTEGER";
      if (!version_counts) columns += ", lock_fence INTEGER NOT NULL DEFAULT 0";
    }
    const char* const id = shape.id == row_id_kind::integer ? "id INTEGER PRIMARY KEY"
                           : shape.id == row_id_kind::text  ? "id TEXT PRIMARY KEY"
                                                            : "region INTEGER NOT NULL, name TEXT NOT NULL";
    if (shape.id == row_id_kind::composite) columns += ", PRIMARY KEY (region, name)";
    raw_sqlite(path_).run(fmt::format("CREATE TABLE {} ({}, {})", table.table, id, columns));
  }

  scratch_folder folder_;
  const std::string path_ = folder_ / "locks.db";
  machine_clock clock_{};
  int tables_ = 0;
};

}  // namespace

std::unique_ptr<row_fixture> make_row_fixture() { return std::make_unique<sqlite_row_fixture>(); }

}  // namespace dlock::test
