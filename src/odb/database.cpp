// SPDX-License-Identifier: BSL-1.0
#include "dlock/odb/database.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "dlock/store_interface/store_url.hpp"
#include "odb/application.hpp"

namespace dlock {

std::unique_ptr<odb::database> open_database(std::string_view url) {
  const auto store = open_store(url);
  const auto* const application = stores::sql::application_database_of(*store);
  if (application == nullptr) {
    throw std::invalid_argument(fmt::format("dlock: open_database: {} is no database", store->name()));
  }
  return detail::odb_application(*application).open_database();
}

odb::transaction_impl* begin_write(odb::database& db) {
  const auto* const part = detail::find_database_part(db.id());
  if (part != nullptr) return part->begin_to_write(db);
  if (db.id() == odb::id_sqlite)
    throw std::logic_error("dlock: begin_write() of an SQLite database: link dlock::odb_sqlite");
  return db.begin();
}

}  // namespace dlock
