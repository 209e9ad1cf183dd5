// SPDX-License-Identifier: BSL-1.0
#include <sqlite3.h>

#include <mutex>

#include "contract/golden/golden_sql.hpp"

namespace dlock::test {

namespace {

/// Sees all connections that this process opens from now on.
class sqlite_log final : public statement_log {
 public:
  sqlite_log() { REQUIRE(::sqlite3_auto_extension(reinterpret_cast<void (*)()>(&sqlite_log::opened)) == SQLITE_OK); }
  ~sqlite_log() override { ::sqlite3_cancel_auto_extension(reinterpret_cast<void (*)()>(&sqlite_log::opened)); }
  sqlite_log(const sqlite_log&) = delete;
  sqlite_log& operator=(const sqlite_log&) = delete;

  std::vector<std::string> take() override {
    const std::lock_guard lock(mutex);
    return std::exchange(sent, {});
  }

 private:
  static int opened(sqlite3* file, const char** /*error*/, const void* /*functions*/) {
    return ::sqlite3_trace_v2(file, SQLITE_TRACE_STMT, &sqlite_log::note, nullptr);
  }
  static int note(unsigned /*event*/, void* /*mine*/, void* /*statement*/, void* text) {
    const std::lock_guard lock(mutex);
    sent.emplace_back(static_cast<const char*>(text));
    return 0;
  }

  static inline std::mutex mutex{};
  static inline std::vector<std::string> sent{};
};

TEST_CASE("golden sql: what the store of SQLite sends about keys has not changed") {
  sqlite_log log;
  const auto fixture = make_store_fixture();
  check_golden("sqlite_keys", golden_steps(*fixture, log, {}));
}

TEST_CASE("golden sql: what the store of SQLite sends about rows has not changed") {
  sqlite_log log;  // before connections are opened
  check_golden_rows(
      "sqlite_rows", golden_shapes(), [] { return std::make_unique<sqlite_log>(); },
      [](row_scene& rows) {
        return std::vector<std::pair<std::string, std::string>>{{rows.fixture->tables_id(), "<tables>"}};
      });
}

}  // namespace

}  // namespace dlock::test
