// SPDX-License-Identifier: BSL-1.0
//
// A flash sale: more customers than goods, several worker processes, one database. See README.md.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <dlock/lock_service.hpp>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string_view>

#include "report.hpp"
#include "sale.hpp"
#include "shop.hpp"
#include "support/console.hpp"
#include "support/process.hpp"

namespace {

using namespace flash_sale;
namespace fs = std::filesystem;

/// A sale from beginning to end, in a folder of its own: databases, worker processes, audit.
run_report run_sale(settings s, bool locked, const sale_input& input) {
  s.locked = locked;
  s.folder /= locked ? "with_dlock" : "without_locks";
  fs::remove_all(s.folder);  // what an earlier run left
  fs::create_directories(s.folder);
  fs::current_path(s.folder);
  // Two files: the shop's transactions would hold up the renewals of the locks, and the locks' commits the shop's.
  support::pass_on(shop_variable, s.shop_url.empty() ? s.shop_url = "sqlite:shop.db" : s.shop_url);
  support::pass_on(locks_variable, s.locks_url.empty() ? "sqlite:locks.db" : s.locks_url);
  if (locked && !s.owner_url.empty()) {
    // As in production: one user makes the tables, the application's user only locks.
    const dlock::lock_service makes_the_tables(s.owner_url);
  }
  shop books(s.shop_url);
  books.open_sale(input.products);
  run_report run{.title = locked ? "with dlock" : "without locks", .locked = locked, .folder = s.folder};
  run.sale = run_workers(s, run.title, input.orders);
  run.books = audit_books(input, books.all_products(), books.all_orders());
  return run;
}

/// With locks and without. Returns the exit code.
int demo(const settings& s, bool own_files) {
  fs::create_directories(s.folder);
  if (!own_files) generate_input(s.input, s.folder);
  const auto input = read_input(s.folder);
  fmt::print("A flash sale: {} products, {} lines of orders, {} worker processes, {}.\nFiles are in {}\n\n",
             support::grouped(input.products.size()), support::grouped(input.order_lines), s.workers,
             s.database == "mysql" ? "MySQL or MariaDB" : "SQLite", s.folder.string());
  report_bad_lines(input.bad, s.folder / "bad_lines.txt");
  if (input.orders.empty()) throw std::invalid_argument("orders.csv has no good line");
  fmt::print("\n");
  std::vector<run_report> runs;
  for (const bool locked : {true, false}) runs.push_back(run_sale(s, locked, input));
  print_table(runs, input);
  return print_verdict(runs, input, s.kill_one && s.workers > 1) ? 0 : 1;
}

int parse_and_run(int argc, char** argv) {
  settings s;
  bool quick = false;
  bool own_files = false;
  s.folder = fs::read_symlink("/proc/self/exe").parent_path() / "sale";
  CLI::App app("A flash sale served by several processes: with distributed locks, and without.", "flash_sale");
  app.option_defaults()->always_capture_default();
  app.add_option("--orders", s.input.orders, "lines in the file of orders")->check(CLI::Range(1, 10'000'000));
  app.add_option("--products", s.input.products, "products on sale")->check(CLI::Range(1, 10'000));
  app.add_option("--seed", s.input.seed, "the same seed gives the same files");
  app.add_flag("--quick", quick, "1,500 orders");
  app.add_flag("--own-files", own_files, "no files are made: products.csv and orders.csv are in the folder");
  app.add_option("--dir", s.folder, "the folder of all files; those of an earlier run are overwritten");
  auto* const db = app.add_option("--db", s.database, "database of the shop and of the locks");
  db->check(CLI::IsMember({"sqlite", "mysql"}));
  // Options without a default to show: it may hold a password.
  app.option_defaults()->always_capture_default(false);
  app.add_option("--locks-url", s.locks_url, "--db mysql: where the locks are")->envname("DLOCK_TEST_MYSQL_URL");
  app.add_option("--owner-url", s.owner_url, "--db mysql: the same, by a user that may make the lock tables")
      ->envname("DLOCK_TEST_MYSQL_OWNER_URL");
  app.add_option("--shop-url", s.shop_url, "--db mysql: where the shop is")->envname("DLOCK_TEST_MYSQL_APP_URL");
  app.option_defaults()->always_capture_default();
  app.add_option("--workers", s.workers, "worker processes")->check(CLI::Range(1, 64));
  app.add_option("--think-us", s.think_us, "how long the payment service takes, in microseconds")
      ->check(CLI::Range(0, 1'000'000));
  app.add_option("--ttl-ms", s.ttl_ms, "how long a dead worker's lock stays taken, in milliseconds")
      ->check(CLI::Range(1'000, 60'000));
  app.add_flag("!--no-kill", s.kill_one, "kill no worker");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    return app.exit(problem) == 0 ? 0 : 2;
  }
  if (quick) s.input.orders = 1'500;
  s.folder = fs::absolute(s.folder);
  if (s.database == "sqlite") s.locks_url = s.owner_url = s.shop_url = "";  // may come from the environment
  if (s.database == "mysql" && (s.locks_url.empty() || s.shop_url.empty())) {
    throw std::invalid_argument("--db mysql needs --locks-url and --shop-url (./dev demo --db mysql gives both)");
  }
  return demo(s, own_files);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc == 2 && std::string_view(argv[1]) == "worker") return run_worker(), 0;  // it starts itself so
  return parse_and_run(argc, argv);
} catch (const std::exception& problem) {
  std::fflush(stdout);
  fmt::print(stderr, "flash_sale: {}\n", problem.what());
  return 2;
}
