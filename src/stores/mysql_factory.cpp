// SPDX-License-Identifier: GPL-2.0-or-later
#include "stores/mysql_factory.hpp"

#include <fmt/format.h>

#include <odb/mysql/exceptions.hxx>
#include <string>
#include <utility>

#include "stores/mysql_errors.hpp"
#include "stores/mysql_server.hpp"

namespace dlock::detail {

mysql_odb_connection::mysql_odb_connection(odb::mysql::database& database, mysql_handle handle, const odb_names& names)
    : odb::mysql::connection(database, handle.get()), names_(names) {
  handle.release();  // the base class closes it
}

unsigned long long mysql_odb_connection::execute(const char* statement, std::size_t length) {
  const auto adapted = names_.adapt({statement, length});
  return odb::mysql::connection::execute(adapted.data(), adapted.size());
}

odb::mysql::connection_ptr mysql_factory::open(microseconds limit, fault& why) {
  const auto end = std::chrono::steady_clock::now() + limit;
  const auto first = good_host_.load(std::memory_order_relaxed);
  std::string reasons;
  for (std::size_t i = 0; i != settings_.hosts.size(); ++i) {
    const auto left = std::chrono::duration_cast<microseconds>(end - std::chrono::steady_clock::now());
    if (i != 0 && left <= microseconds{0}) break;
    const auto at = (first + i) % settings_.hosts.size();
    const auto& host = settings_.hosts[at];
    auto handle = connect_mysql(settings_, host, left, why);
    if (handle &&
        refuses_writes(handle.get(), fmt::format("dlock: {}: {}", settings_.name, settings_.where(host)), why)) {
      handle.reset();
    }
    if (handle) {
      good_host_.store(at, std::memory_order_relaxed);
      return odb::mysql::connection_ptr(new (odb::details::shared)
                                            mysql_odb_connection(*database_, std::move(handle), names_));
    }
    reasons += (reasons.empty() ? "" : "; ") + why.text;
  }
  why.text = std::move(reasons);
  return odb::mysql::connection_ptr();
}

odb::mysql::connection_ptr mysql_factory::connect() {
  fault why;
  auto made = open(settings_.connect_timeout, why);
  if (!made) {
    throw odb::mysql::database_exception(static_cast<unsigned>(why.native), why.sqlstate, why.text);
  }
  return made;
}

}  // namespace dlock::detail
