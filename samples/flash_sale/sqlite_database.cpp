// SPDX-License-Identifier: GPL-2.0-or-later
#include "sqlite_database.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <chrono>
#include <thread>

namespace flash_sale {
namespace {

/// SQLite's own busy handler soon sleeps 100 ms at a time, ages for writes that take a fraction of a millisecond.
int wait_a_little(void*, int tries) {
  constexpr int most_tries = 20'000;
  if (tries >= most_tries) return 0;
  std::this_thread::sleep_for(std::chrono::microseconds{500});
  return 1;
}

}  // namespace

void sqlite_database::closer::operator()(sqlite3* handle) const noexcept { sqlite3_close_v2(handle); }
void sqlite_database::closer::operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }

sqlite_database::sqlite_database(const std::string& file) : file_(file) {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(file.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  handle_.reset(handle);
  if (code != SQLITE_OK) fail("opening");
  sqlite3_busy_handler(handle_.get(), wait_a_little, nullptr);
  // A booked order is on the disk, whatever happens to the machine.
  query("PRAGMA journal_mode=WAL", {});
  query("PRAGMA synchronous=FULL", {});
}

void sqlite_database::fail(std::string_view doing) const {
  throw database_error(fmt::format("{}: {}: {}", file_, doing, sqlite3_errmsg(handle_.get())));
}

std::vector<row> sqlite_database::run(std::string_view sql, const std::vector<value>& parameters) {
  auto known = statements_.find(sql);
  if (known == statements_.end()) {
    sqlite3_stmt* made = nullptr;
    if (sqlite3_prepare_v2(handle_.get(), sql.data(), static_cast<int>(sql.size()), &made, nullptr) != SQLITE_OK) {
      fail(sql);
    }
    known = statements_.try_emplace(std::string(sql), made).first;
  }
  auto* const statement = known->second.get();
  const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> reset_at_end(statement, sqlite3_reset);
  int index = 0;
  for (const auto& parameter : parameters) {
    ++index;
    const auto* const text = std::get_if<std::string>(&parameter);
    const int code = text != nullptr ? sqlite3_bind_text(statement, index, text->data(), static_cast<int>(text->size()),
                                                         SQLITE_STATIC)
                                     : sqlite3_bind_int64(statement, index, std::get<std::int64_t>(parameter));
    if (code != SQLITE_OK) fail(sql);
  }
  std::vector<row> rows;
  int code = SQLITE_ROW;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
    auto& fields = rows.emplace_back();
    for (int i = 0; i < sqlite3_column_count(statement); ++i) {
      const auto* const text = reinterpret_cast<const char*>(sqlite3_column_text(statement, i));
      fields.emplace_back(text == nullptr ? "" : text);
    }
  }
  if (code != SQLITE_DONE) fail(sql);
  return rows;
}

std::vector<row> sqlite_database::query(std::string_view sql, const std::vector<value>& parameters) {
  return run(sql, parameters);
}

std::uint64_t sqlite_database::execute(std::string_view sql, const std::vector<value>& parameters) {
  run(sql, parameters);
  return static_cast<std::uint64_t>(sqlite3_changes(handle_.get()));
}

// IMMEDIATE: a transaction that becomes a writer half-way may be refused for good, one that begins as one just waits.
void sqlite_database::begin() { run("BEGIN IMMEDIATE", {}); }
void sqlite_database::commit() { run("COMMIT", {}); }

void sqlite_database::rollback() noexcept {
  // Nothing to roll back is no failure: some errors have ended the transaction already.
  if (sqlite3_get_autocommit(handle_.get()) == 0) sqlite3_exec(handle_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

}  // namespace flash_sale
