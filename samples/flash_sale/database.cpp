// SPDX-License-Identifier: GPL-2.0-or-later
#include "database.hpp"

#include <fmt/format.h>

#include <dlock/store/store_url.hpp>

#include "mysql_database.hpp"
#include "sqlite_database.hpp"

namespace flash_sale {

std::unique_ptr<database> open_database(std::string_view text) {
  const auto url = dlock::store_url::parse(text);
  if (url.scheme == "sqlite") return std::make_unique<sqlite_database>(url.path);
#ifdef FLASH_SALE_MYSQL
  if (url.scheme == "mysql") return std::make_unique<mysql_database>(url);
#endif
  throw std::invalid_argument(fmt::format("{}: the shop's database must be sqlite: or mysql:", url.redacted()));
}

bool has_mysql() noexcept {
#ifdef FLASH_SALE_MYSQL
  return true;
#else
  return false;
#endif
}

}  // namespace flash_sale
