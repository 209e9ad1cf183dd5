// SPDX-License-Identifier: GPL-2.0-or-later
#include "sale.hpp"

#include <fmt/format.h>

#include <dlock/lock_service.hpp>
#include <dlock/store/store_url.hpp>

#include "shop.hpp"

namespace flash_sale {
namespace {

/// sqlite:<file>, with what means something in a URL escaped.
std::string sqlite_url(const std::filesystem::path& file) {
  std::string url = "sqlite:";
  for (const char c : file.string()) {
    if (c == '%' || c == '?' || c == '#' || static_cast<unsigned char>(c) <= 0x20) {
      url += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    } else {
      url += c;
    }
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
std::string prepare_locks(const setup& how, const std::filesystem::path& folder) {
  if (how.locks_url.empty()) return sqlite_url(folder / "locks.db");
  if (how.owner_url.empty()) return how.locks_url;
  // As in production: one user makes the tables, the application's user only locks.
  { const dlock::lock_service makes_the_tables(how.owner_url); }
  const bool says_schema = dlock::store_url::parse(how.locks_url).params.count("schema") != 0;
  const bool has_params = how.locks_url.find('?') != std::string::npos;
  return says_schema ? how.locks_url : how.locks_url + (has_params ? "&" : "?") + "schema=verify";
}

}  // namespace

run_report run_sale(const setup& how, bool locked, const std::vector<product>& products,
                    const std::vector<order>& orders) {
  const auto folder = how.folder / (locked ? "with_dlock" : "without_locks");
  clear(folder);
  run_report report{.title = locked ? "with dlock" : "without locks", .locked = locked, .folder = folder};
  sale_options options{.title = fmt::format("{:<13}", report.title),
                       .folder = folder,
                       // A file of its own: the shop's transactions would hold up the renewals of the locks,
                       // and the locks' commits the shop's.
                       .shop_url = how.shop_url.empty() ? sqlite_url(folder / "shop.db") : how.shop_url,
                       .locks_url = locked ? prepare_locks(how, folder) : "",
                       .workers = how.workers,
                       .kill_one = how.kill_one && how.workers > 1,
                       .think = how.think,
                       .ttl = how.ttl};
  shop books(options.shop_url);
  books.open_sale(products);
  report.sale = coordinator(std::move(options), orders).run();
  report.books = audit_books(products, orders, books.all_stock(), books.all_orders());
  return report;
}

}  // namespace flash_sale
