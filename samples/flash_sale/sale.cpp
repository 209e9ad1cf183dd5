// SPDX-License-Identifier: GPL-2.0-or-later
#include "sale.hpp"

#include <fmt/format.h>

#include <dlock/lock_service.hpp>
#include <dlock/store/store_url.hpp>

#include "report.hpp"
#include "shop.hpp"

namespace flash_sale {
namespace {

/// sqlite:<file>, with what means something in a URL escaped.
std::string sqlite_url(const std::filesystem::path& file) {
  std::string url = "sqlite:";
  for (const char c : file.string()) {
    const bool is_plain = c != '%' && c != '?' && c != '#' && static_cast<unsigned char>(c) > 0x20;
    url += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return url;
}

/// Removes what an earlier run left, and nothing else.
void clear(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto name = entry.path().filename().string();
    if (name.rfind("shop.db", 0) == 0 || name.rfind("locks.db", 0) == 0 || name.rfind("worker-", 0) == 0) {
      std::filesystem::remove(entry.path());
    }
  }
}

/// The URL that workers lock with. Its lock tables exist afterwards.
std::string prepare_locks(const settings& s) {
  if (s.locks_url.empty()) return sqlite_url(s.folder / "locks.db");
  if (s.owner_url.empty()) return s.locks_url;
  // As in production: one user makes the tables, the application's user only locks.
  { const dlock::lock_service makes_the_tables(s.owner_url); }
  const bool says_schema = dlock::store_url::parse(s.locks_url).params.count("schema") != 0;
  const bool has_params = s.locks_url.find('?') != std::string::npos;
  return says_schema ? s.locks_url : s.locks_url + (has_params ? "&" : "?") + "schema=verify";
}

}  // namespace

run_report run_sale(settings s, const std::vector<product>& products, const std::vector<order>& orders) {
  run_report report{.title = s.locked ? "with dlock" : "without locks", .locked = s.locked};
  report.folder = s.folder /= s.locked ? "with_dlock" : "without_locks";
  clear(s.folder);
  // A file of its own: the shop's transactions would hold up the renewals of the locks, and the locks' commits the shop's.
  if (s.shop_url.empty()) s.shop_url = sqlite_url(s.folder / "shop.db");
  if (s.locked) s.locks_url = prepare_locks(s);
  shop books(s.shop_url);
  books.open_sale(products);
  report.sale = run_workers(s, report.title, orders);
  report.books = audit_books(products, orders, books.all_stock(), books.all_orders());
  return report;
}

}  // namespace flash_sale
