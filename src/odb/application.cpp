// SPDX-License-Identifier: BSL-1.0
#include "odb/application.hpp"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <stdexcept>

namespace dlock::detail {

namespace {

constinit std::array<std::atomic<const database_part*>, 8> parts{};

std::atomic<const database_part*>& part_for(odb::database_id kind) noexcept {
  return parts[static_cast<std::size_t>(kind) % parts.size()];
}

using stores::sql::client_library;

const database_part* part_of(client_library library) {
  if (const auto* const found = find_database_part(kind_of(library)); found != nullptr) return found;
  throw std::logic_error(
      fmt::format("dlock: what reaches ODB's transactions in this kind of database is not linked: link dlock::odb_{}",
                  library == client_library::mysql ? "mysql" : "sqlite"));
}

}  // namespace

void add_database_part(odb::database_id kind, const database_part& part) noexcept {
  part_for(kind).store(&part, std::memory_order_release);
}

const database_part* find_database_part(odb::database_id kind) noexcept {
  return part_for(kind).load(std::memory_order_acquire);
}

odb::database_id kind_of(client_library library) noexcept {
  switch (library) {
    case client_library::mysql: return odb::id_mysql;
    case client_library::sqlite: return odb::id_sqlite;
    case client_library::other: break;
  }
  return odb::id_common;
}

odb_application::odb_application(const stores::sql::application_database& of)
    : of_(&of), part_(part_of(of.library())) {}

stores::sql::application_connection odb_application::handle_of(odb::connection& with) const noexcept {
  const auto library = of_->library();
  if (with.database().id() != kind_of(library)) return {};
  return {library, part_->handle_of(with)};
}

outcome odb_application::shares(odb::connection& with, fault& why) const {
  const auto handle = handle_of(with);
  if (handle.handle != nullptr) part_->end_result(with);
  return of_->shares(handle, why);
}

void odb_application::catch_up(odb::connection& with) const {
  if (handle_of(with).handle == nullptr) return;
  if (const auto statement = of_->catch_up(); !statement.empty()) with.execute(statement);
}

outcome odb_application::describe(odb::connection& with, row_table& table, fault& why) const {
  const auto handle = handle_of(with);
  if (handle.handle != nullptr) part_->end_result(with);
  return of_->describe(handle, table, why);
}

std::string odb_application::address_of(odb::database& database) const {
  return database.id() == kind_of(of_->library()) ? part_->address_of(database) : std::string();
}

odb::transaction_impl* odb_application::begin_to_write(odb::connection& connection) const {
  return handle_of(connection).handle == nullptr ? connection.begin() : part_->begin_to_write(connection);
}

}  // namespace dlock::detail
