// SPDX-License-Identifier: BSL-1.0
#include <dlock/detail/odb_compat.hpp>
//
#include <fmt/format.h>
#include <odb/exceptions.hxx>
#include <odb/mysql/connection-factory.hxx>
#include <odb/mysql/connection.hxx>
#include <odb/mysql/database.hxx>
#include <odb/mysql/exceptions.hxx>
#include <odb/mysql/mysql.hxx>
#include <odb/mysql/query.hxx>
#include <odb/version.hxx>

#include <functional>
#include <utility>

#include "odb/database_part.hpp"

namespace dlock::detail {

namespace {

/// A pool of connections that the store makes, by its URL.
class connections_by_url final : public odb::mysql::connection_pool_factory {
 public:
  explicit connections_by_url(std::function<void*(fault&)> connect) : connect_(std::move(connect)) {}

 protected:
  pooled_connection_ptr create() override {
    fault why;
    auto* const handle = static_cast<MYSQL*>(connect_(why));
    if (handle == nullptr)
      throw odb::mysql::database_exception(static_cast<unsigned>(why.native), why.sqlstate, why.text);
      // The connection closes the handle, even if the rest of its constructor throws.
#if LIBODB_VERSION < 2050000
    return pooled_connection_ptr(new (odb::details::shared) pooled_connection(*db_, handle));
#else
    return pooled_connection_ptr(new (odb::details::shared) pooled_connection(*this, handle));
#endif
  }

 private:
  const std::function<void*(fault&)> connect_;
};

class mysql_part final : public database_part {
 public:
  void* handle_of(odb::connection& connection) const noexcept override { return of(connection).handle(); }
  void end_result(odb::connection& connection) const override { of(connection).clear(); }

  std::string address_of(odb::database& database) const override {
    const auto& to = static_cast<const odb::mysql::database&>(database);
    const char* const socket = to.socket();
    return fmt::format("{}@{}:{}:{}/{} {}", to.user(), to.host(), to.port(), socket == nullptr ? "" : socket, to.db(),
                       to.charset());
  }

  std::unique_ptr<odb::database> open(const stores::sql::application_database& at) const override {
    // The names identify the database; only the store's settings decide how connections are made.
    const auto to = at.address();
    return std::make_unique<odb::mysql::database>(to.user, "", to.database, to.host, to.port,
                                                  to.socket.empty() ? nullptr : &to.socket, "utf8mb4", 0,
                                                  std::make_unique<connections_by_url>(at.connector()));
  }

  column_name name_of(const void* column) const override {
    const auto& is = *static_cast<const odb::mysql::query_column_base*>(column);
    return {is.table(), is.column()};
  }

  fault fault_of(const stores::sql::application_database& at, const odb::exception& error) const override {
    if (const auto* const known = dynamic_cast<const odb::mysql::database_exception*>(&error))
      return at.fault_of(static_cast<int>(known->error()), known->sqlstate(), known->message());
    // ODB's exceptions for these have no error number.
    if (dynamic_cast<const odb::deadlock*>(&error) != nullptr)
      return at.fault_of(ER_LOCK_DEADLOCK, "40001", error.what());
    if (dynamic_cast<const odb::connection_lost*>(&error) != nullptr)
      return at.fault_of(CR_SERVER_LOST, "HY000", error.what());
    auto why = at.fault_of(0, "", error.what());
    why.transient = dynamic_cast<const odb::recoverable*>(&error) != nullptr;
    return why;
  }

 private:
  static odb::mysql::connection& of(odb::connection& connection) noexcept {
    return static_cast<odb::mysql::connection&>(connection);
  }
};

}  // namespace

}  // namespace dlock::detail

// Runs before the constructors of static objects, which may open databases.
extern "C" [[gnu::constructor(200)]] DLOCK_EXPORT void dlock_register_odb_mysql() {
  static const auto* const part = new dlock::detail::mysql_part;
  dlock::detail::add_database_part(odb::id_mysql, *part);
}
