// SPDX-License-Identifier: GPL-2.0-or-later
#include "rows/row_place.hpp"
//
#include <sqlite3.h>

#include <catch2/catch_test_macros.hpp>
#include <odb/connection.hxx>
#include <odb/schema-catalog.hxx>
#include <odb/sqlite/connection.hxx>
#include <odb/sqlite/database.hxx>
#include <variant>

#include "dlock/stores/sqlite.hpp"
#include "support/scratch_folder.hpp"

namespace dlock::test {

namespace {

/// Waits for other writers, as an application's connections do.
class patient_factory final : public odb::sqlite::connection_pool_factory {
 public:
  patient_factory() : connection_pool_factory(0, 0) {}

 private:
  pooled_connection_ptr create() override {
    auto made = connection_pool_factory::create();
    ::sqlite3_busy_timeout(made->handle(), 5000);
    return made;
  }
};

std::unique_ptr<odb::sqlite::database> open(const std::string& file) {
  // Without a shared cache, as several programs on one file are.
  return std::make_unique<odb::sqlite::database>(file,
                                                 SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_PRIVATECACHE,
                                                 true, "", std::make_unique<patient_factory>());
}

class sqlite_row_place final : public row_place {
 public:
  sqlite_row_place() {
    const auto on = db_->connection();
    on->execute("PRAGMA journal_mode = WAL");
    on->execute("PRAGMA foreign_keys = OFF");
    odb::transaction in(on->begin());
    odb::schema_catalog::create_schema(*db_);
    in.commit();
  }

  odb::database& db() override { return *db_; }
  std::string url() const override { return "sqlite:" + folder_ / "app.db"; }
  std::unique_ptr<odb::database> elsewhere() override { return open(folder_ / "other.db"); }
  std::vector<std::vector<std::string>> select(const std::string& sql) override {
    std::vector<std::vector<std::string>> made;
    sqlite3_stmt* statement = nullptr;
    sqlite3* file = nullptr;
    REQUIRE(::sqlite3_open((folder_ / "app.db").c_str(), &file) == SQLITE_OK);
    REQUIRE(::sqlite3_prepare_v2(file, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK);
    while (::sqlite3_step(statement) == SQLITE_ROW) {
      auto& to = made.emplace_back();
      for (int i = 0; i != ::sqlite3_column_count(statement); ++i) {
        const auto* const text = reinterpret_cast<const char*>(::sqlite3_column_text(statement, i));
        to.emplace_back(text == nullptr ? "" : text);
      }
    }
    ::sqlite3_finalize(statement);
    ::sqlite3_close(file);
    return made;
  }
  std::uint64_t execute(odb::connection& on, const verification& check) override {
    auto* const file = static_cast<odb::sqlite::connection&>(on).handle();
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
  bool is_sqlite() const override { return true; }
  std::string time_from_now(int seconds) const override {
    return "datetime('now', '" + std::to_string(seconds) + " seconds')";
  }

 private:
  scratch_folder folder_;
  std::unique_ptr<odb::sqlite::database> db_ = open(folder_ / "app.db");
};

}  // namespace

std::unique_ptr<row_place> make_row_place() { return std::make_unique<sqlite_row_place>(); }

}  // namespace dlock::test
