// SPDX-License-Identifier: BSL-1.0
#include "odb/rows/row_fixture.hpp"
//
#include <sqlite3.h>

#include <odb/connection.hxx>
#include <odb/schema-catalog.hxx>
#include <odb/sqlite/connection.hxx>
#include <odb/sqlite/database.hxx>

#include "dlock/stores/sqlite.hpp"
#include "support/scratch_folder.hpp"
#include "support/test.hpp"

namespace dlock::test {

namespace {

/// What connections have executed.
struct trace {
  std::mutex mutex{};
  std::vector<std::string> statements{};

  static int note(unsigned /*event*/, void* mine, void* /*statement*/, void* text) {
    auto& to = *static_cast<trace*>(mine);
    const std::lock_guard lock(to.mutex);
    to.statements.emplace_back(static_cast<const char*>(text));
    return 0;
  }
};

/// Waits for other writers, as an application's connections do.
class patient_factory final : public odb::sqlite::connection_pool_factory {
 public:
  explicit patient_factory(trace* to) : connection_pool_factory(0, 0), trace_(to) {}

 private:
  pooled_connection_ptr create() override {
    auto connection = connection_pool_factory::create();
    ::sqlite3_busy_timeout(connection->handle(), 5000);
    if (trace_ != nullptr) ::sqlite3_trace_v2(connection->handle(), SQLITE_TRACE_STMT, &trace::note, trace_);
    return connection;
  }

  trace* const trace_;
};

std::unique_ptr<odb::sqlite::database> open(const std::string& file, trace* to = nullptr) {
  // Without a shared cache, as several programs on one file are.
  return std::make_unique<odb::sqlite::database>(file,
                                                 SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_PRIVATECACHE,
                                                 true, "", std::make_unique<patient_factory>(to));
}

class sqlite_row_fixture final : public row_fixture {
 public:
  sqlite_row_fixture() {
    const auto connection = db_->connection();
    connection->execute("PRAGMA journal_mode = WAL");
    connection->execute("PRAGMA foreign_keys = OFF");
    odb::transaction in(connection->begin());
    odb::schema_catalog::create_schema(*db_);
    in.commit();
  }

  odb::database& db() override { return *db_; }
  std::string url() const override { return "sqlite:" + folder_ / "app.db"; }
  std::unique_ptr<odb::database> elsewhere() override { return open(folder_ / "other.db"); }
  std::vector<std::vector<std::string>> select(const std::string& sql) override {
    std::vector<std::vector<std::string>> rows;
    sqlite3_stmt* statement = nullptr;
    sqlite3* file = nullptr;
    REQUIRE(::sqlite3_open((folder_ / "app.db").c_str(), &file) == SQLITE_OK);
    REQUIRE(::sqlite3_prepare_v2(file, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK);
    while (::sqlite3_step(statement) == SQLITE_ROW) {
      auto& to = rows.emplace_back();
      for (int i = 0; i != ::sqlite3_column_count(statement); ++i) {
        const auto* const text = reinterpret_cast<const char*>(::sqlite3_column_text(statement, i));
        to.emplace_back(text == nullptr ? "" : text);
      }
    }
    ::sqlite3_finalize(statement);
    ::sqlite3_close(file);
    return rows;
  }
  std::uint64_t execute(odb::connection& connection, const verification& check) override {
    auto* const file = static_cast<odb::sqlite::connection&>(connection).handle();
    sqlite3_stmt* statement = nullptr;
    REQUIRE(::sqlite3_prepare_v2(file, check.sql.c_str(), -1, &statement, nullptr) == SQLITE_OK);
    int at = 0;
    for (const auto& each : check.parameters) {
      ++at;
      if (const auto* const number = std::get_if<std::int64_t>(&each)) {
        ::sqlite3_bind_int64(statement, at, *number);
      } else if (const auto* const fence = std::get_if<std::uint64_t>(&each)) {
        ::sqlite3_bind_int64(statement, at, static_cast<std::int64_t>(*fence));
      } else if (const auto* const text = std::get_if<std::string>(&each)) {
        ::sqlite3_bind_text(statement, at, text->data(), static_cast<int>(text->size()), SQLITE_STATIC);
      } else {
        const auto& bytes = std::get<verification::bytes>(each).value;
        ::sqlite3_bind_blob(statement, at, bytes.data(), static_cast<int>(bytes.size()), SQLITE_STATIC);
      }
    }
    REQUIRE(::sqlite3_step(statement) == SQLITE_DONE);
    ::sqlite3_finalize(statement);
    return static_cast<std::uint64_t>(::sqlite3_changes(file));
  }
  void watch() override { static_cast<void>(sent()); }
  std::vector<std::string> sent() override {
    const std::lock_guard lock(trace_.mutex);
    return std::exchange(trace_.statements, {});
  }
  bool is_sqlite() const override { return true; }
  std::string time_from_now(int seconds) const override {
    return "datetime('now', '" + std::to_string(seconds) + " seconds')";
  }

 private:
  scratch_folder folder_;
  trace trace_{};
  std::unique_ptr<odb::sqlite::database> db_ = open(folder_ / "app.db", &trace_);
};

}  // namespace

std::unique_ptr<row_fixture> make_row_fixture() { return std::make_unique<sqlite_row_fixture>(); }

}  // namespace dlock::test
