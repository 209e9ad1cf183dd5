// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlock/detail/odb_compat.hpp>
//
#include <odb/database.hxx>
#include <odb/details/shared-ptr.hxx>
#include <odb/sqlite/connection-factory.hxx>
#include <odb/sqlite/connection.hxx>
#include <odb/sqlite/database.hxx>
#include <odb/version.hxx>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "dlock/store_interface/store_url.hpp"

namespace dlock::stores::sqlite {

/// What the URL of an SQLite store says of the file. dlock/stores/sqlite.hpp has the meanings.
struct sqlite_settings {
  std::string name{};  ///< the URL, for messages
  std::string path{};  ///< absolute
  std::chrono::milliseconds busy_timeout{};
  bool any_file_system = false;  ///< also where machines share files

  /// Of a statement of an acquire or a release: a file that is busy for longer makes the key
  /// count as busy, which is for the caller to wait for. The engine interrupts what takes much longer than this.
  std::chrono::milliseconds statement_timeout() const noexcept {
    return std::min(busy_timeout, std::chrono::milliseconds{1000});
  }

  /// Takes its parameters out of the URL, so that those of a scheme are left. Throws std::invalid_argument.
  static sqlite_settings take(store_url& url);
};

/// What a scheme makes of a statement that ODB generated, before it is executed: its tables may have another prefix.
/// Empty: nothing.
using statement_rewrite = std::function<std::string(std::string_view)>;

/// ODB's connection, which rewrites the statements of ODB's schema catalogue.
class sqlite_link final : public odb::sqlite::connection {
 public:
#if LIBODB_VERSION < 2050000
  using origin = odb::sqlite::database;
#else
  using origin = odb::sqlite::connection_factory;
#endif
  sqlite_link(origin& from, const statement_rewrite& rewrite, int flags)
      : odb::sqlite::connection(from, flags), rewrite_(rewrite) {}

  using odb::connection::execute;
  unsigned long long execute(const char* statement, std::size_t size) override {
    if (!rewrite_) return odb::sqlite::connection::execute(statement, size);
    const std::string adapted = rewrite_({statement, size});
    return odb::sqlite::connection::execute(adapted.data(), adapted.size());
  }

 private:
  const statement_rewrite& rewrite_;
};

using sqlite_link_ptr = odb::details::shared_ptr<sqlite_link>;

/// Makes a connection whenever asked; the engine above keeps the pool.
class sqlite_link_factory final : public odb::sqlite::connection_factory {
 public:
  explicit sqlite_link_factory(statement_rewrite rewrite) : rewrite_(std::move(rewrite)) {}

  sqlite_link_ptr connect(int flags) {
    // A connection is used by one thread at a time, so SQLite needs no mutex for it.
    flags |= SQLITE_OPEN_NOMUTEX;
#if LIBODB_VERSION < 2050000
    return sqlite_link_ptr(new (odb::details::shared) sqlite_link(*database_, rewrite_, flags));
#else
    return sqlite_link_ptr(new (odb::details::shared) sqlite_link(*this, rewrite_, flags));
#endif
  }

  odb::sqlite::connection_ptr connect() override { return connect(0); }
  void database(odb::sqlite::database& database) override {
#if LIBODB_VERSION < 2050000
    database_ = &database;
#else
    odb::sqlite::connection_factory::database(database);
#endif
  }

 private:
  const statement_rewrite rewrite_;
#if LIBODB_VERSION < 2050000
  odb::sqlite::database* database_ = nullptr;
#endif
};

/// A database of the application's own, in the file that the locks are in. Its connections wait while others write.
std::unique_ptr<odb::database> open_application_database(const sqlite_settings& settings);

}  // namespace dlock::stores::sqlite
