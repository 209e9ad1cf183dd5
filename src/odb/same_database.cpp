// SPDX-License-Identifier: BSL-1.0
#include "odb/same_database.hpp"

namespace dlock::detail {

namespace {

bool leads_elsewhere(const stores::sql::application_database& application, odb::connection& connection) {
  auto answer = application.glance(connection);
  fault why;
  if (answer == outcome::unknown) answer = application.shares(connection, why);
  return answer == outcome::no;
}

}  // namespace

unsigned long long execute_there(const stores::sql::application_database& application, odb::connection& connection,
                                 const std::string& sql, unsigned long long expected,
                                 const std::function<void()>& elsewhere) {
  unsigned long long changed = 0;
  try {
    changed = connection.execute(sql);
  } catch (const odb::exception& error) {
    const auto why = application.fault_of(error);
    // No such table, for example.
    const bool lasting = !why.connection && !why.transient && !why.contended;
    if (lasting && leads_elsewhere(application, connection)) elsewhere();
    throw;
  }
  if (changed != expected && leads_elsewhere(application, connection)) elsewhere();
  return changed;
}

}  // namespace dlock::detail
