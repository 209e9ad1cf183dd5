// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sqlite3.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace dlock::test {

/// Another program with the same file: SQLite's own API, nothing of dlock.
class raw_sqlite {
 public:
  explicit raw_sqlite(const std::string& path) {
    if (::sqlite3_open_v2(path.c_str(), &handle_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr) != SQLITE_OK) {
      fail(path);
    }
  }
  ~raw_sqlite() { ::sqlite3_close(handle_); }
  raw_sqlite(const raw_sqlite&) = delete;
  raw_sqlite& operator=(const raw_sqlite&) = delete;

  /// False if the file was busy: it waits for nobody. Throws for anything else.
  bool try_run(const std::string& sql) {
    const int code = ::sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
    if (code != SQLITE_OK && code != SQLITE_BUSY) fail(sql);
    return code == SQLITE_OK;
  }
  /// Waits for those who write, which a service's renewals and releases in the background may do at any time.
  void run(const std::string& sql) {
    ::sqlite3_busy_timeout(handle_, 20'000);
    if (!try_run(sql)) fail(sql);
    ::sqlite3_busy_timeout(handle_, 0);
  }
  /// The first column of the first row; empty if there is none.
  std::string text(const std::string& sql) { return text(handle_, sql); }
  /// Of anybody's connection.
  static std::string text(sqlite3* handle, const std::string& sql) {
    std::string found;
    const auto keep = [](void* into, int, char** values, char**) {
      auto& text = *static_cast<std::string*>(into);
      if (text.empty() && values[0] != nullptr) text = values[0];
      return 0;
    };
    if (::sqlite3_exec(handle, sql.c_str(), keep, &found, nullptr) != SQLITE_OK) fail(handle, sql);
    return found;
  }
  /// One column of all rows.
  std::vector<std::optional<std::string>> column(const std::string& sql, int which = 0) {
    struct reading {
      int which;
      std::vector<std::optional<std::string>> found{};
    } all{which};
    const auto keep = [](void* into, int, char** values, char**) {
      auto& to = *static_cast<reading*>(into);
      const char* const value = values[to.which];
      to.found.push_back(value == nullptr ? std::nullopt : std::optional<std::string>(value));
      return 0;
    };
    if (::sqlite3_exec(handle_, sql.c_str(), keep, &all, nullptr) != SQLITE_OK) fail(sql);
    return all.found;
  }
  /// Rows that the last statement changed.
  int changes() const { return ::sqlite3_changes(handle_); }
  sqlite3* handle() const { return handle_; }

 private:
  [[noreturn]] static void fail(sqlite3* handle, const std::string& problem) {
    throw std::runtime_error(problem + ": " + ::sqlite3_errmsg(handle));
  }
  [[noreturn]] void fail(const std::string& problem) { fail(handle_, problem); }

  sqlite3* handle_ = nullptr;
};

/// A new file whose texts are stored in that encoding, as its application may have chosen: UTF-8, UTF-16le, UTF-16be.
inline void make_sqlite_file(const std::string& path, const std::string& encoding) {
  raw_sqlite file(path);
  file.run("PRAGMA encoding = '" + encoding + "'");
  file.run("PRAGMA journal_mode = WAL");
  file.run("CREATE TABLE of_the_application(id INTEGER)");  // only now is it written
}

}  // namespace dlock::test
