// SPDX-License-Identifier: BSL-1.0
#include "contract/schema/schema_contract.hpp"
#include "support/raw_sqlite.hpp"
#include "support/scratch_folder.hpp"
#include "support/sql_file.hpp"

namespace dlock::test {

namespace {

class sqlite_tables final : public tables_fixture {
 public:
  explicit sqlite_tables(std::shared_ptr<scratch_folder> folder = std::make_shared<scratch_folder>(),
                         std::string prefix = "dlock_")
      : folder_(std::move(folder)), prefix_(std::move(prefix)) {}

  void run(const std::string& sql) override { raw_.run(sql); }
  std::string one(const std::string& sql) override { return raw_.text(sql); }
  std::string table(const std::string& name) const override { return prefix_ + name; }
  std::size_t tables() override { return std::stoul(one("SELECT COUNT(*) FROM sqlite_master WHERE type = 'table'")); }
  std::unique_ptr<tables_fixture> beside() override { return std::make_unique<sqlite_tables>(folder_, "other_"); }
  std::vector<std::string> statements_by_hand() const override {
    auto all = statements_of("schema-sqlite.sql");
    for (const auto* file : {"done-sqlite.sql", "member-sqlite.sql"}) {
      for (auto& each : statements_of(file)) all.push_back(std::move(each));
    }
    return all;
  }
  std::vector<std::string> contents() override {
    std::vector<std::string> lines;
    for (const char* const sql :
         {"SELECT name || ': ' || COALESCE(sql, '') FROM sqlite_master ORDER BY name",
          "SELECT name || ' ' || version || ' ' || migration FROM dlock_schema_version ORDER BY name",
          "SELECT id || ' ' || (id <> 1 OR fence = 0) FROM dlock_floor ORDER BY id", "SELECT id FROM dlock_session",
          "SELECT lock_key FROM dlock_lock", "PRAGMA journal_mode"}) {
      for (const auto& line : raw_.column(sql)) lines.push_back(line.value_or("-"));
    }
    return lines;
  }
  void check_made() override {
    CHECK(one("PRAGMA journal_mode") == "wal");
    CHECK(one("SELECT COUNT(*) FROM " + table("floor")) == "4");
  }
  bool finishes_migrations() const override { return true; }

 protected:
  std::string plain_url() const override {
    return "sqlite:" + path_ + (prefix_ == "dlock_" ? "" : "?prefix=" + prefix_);
  }

 private:
  const std::shared_ptr<scratch_folder> folder_;
  const std::string prefix_;
  const std::string path_ = *folder_ / "locks.db";
  raw_sqlite raw_{path_};
};

}  // namespace

std::unique_ptr<tables_fixture> make_tables_fixture() { return std::make_unique<sqlite_tables>(); }

}  // namespace dlock::test
