// SPDX-License-Identifier: GPL-2.0-or-later
//
// A flash sale: more customers than goods, several worker processes, one database. See README.md.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>

#include "csv_input.hpp"
#include "database.hpp"
#include "generator.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "sale.hpp"
#include "worker.hpp"

namespace {

using namespace flash_sale;
namespace fs = std::filesystem;

struct arguments {
  generator_options input{};
  setup how{};
  std::string database = "sqlite";
  fs::path products{};
  fs::path orders{};
  bool quick = false;
  bool no_kill = false;
  bool no_locks = false;
  long think_us = 1'000;
  long ttl_ms = 2'000;
};

void add_input_options(CLI::App& verb, arguments& a) {
  verb.add_option("--orders", a.input.orders, "lines in the file of orders")
      ->check(CLI::Range(1, 10'000'000))
      ->capture_default_str();
  verb.add_option("--products", a.input.products, "products on sale")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  verb.add_option("--seed", a.input.seed, "the same seed gives the same files")->capture_default_str();
}

void add_sale_options(CLI::App& verb, arguments& a) {
  verb.add_option("--db", a.database, "database of the shop and of the locks")
      ->check(CLI::IsMember({"sqlite", "mysql"}))
      ->capture_default_str();
  verb.add_option("--locks-url", a.how.locks_url, "where the locks are; needed for --db mysql")
      ->envname("DLOCK_TEST_MYSQL_URL");
  verb.add_option("--owner-url", a.how.owner_url, "the same, by a user that may make the lock tables")
      ->envname("DLOCK_TEST_MYSQL_OWNER_URL");
  verb.add_option("--shop-url", a.how.shop_url, "where the shop's tables are; needed for --db mysql")
      ->envname("DLOCK_TEST_MYSQL_APP_URL");
  verb.add_option("--workers", a.how.workers, "worker processes")->check(CLI::Range(1, 64))->capture_default_str();
  verb.add_option("--think-us", a.think_us, "how long the payment service takes, in microseconds")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  verb.add_option("--ttl-ms", a.ttl_ms, "how long a dead worker's lock stays taken, in milliseconds")
      ->check(CLI::Range(1'000, 60'000))
      ->capture_default_str();
  verb.add_flag("--no-kill", a.no_kill, "kill no worker");
}

void add_folder_option(CLI::App& verb, arguments& a) {
  verb.add_option("--dir", a.how.folder, "where files are written; those of an earlier run are overwritten")
      ->capture_default_str();
}

void finish(arguments& a) {
  a.how.mysql = a.database == "mysql";
  if (a.how.mysql && !has_mysql()) throw std::invalid_argument("--db mysql: this program was built without MySQL");
  if (a.how.mysql && (a.how.locks_url.empty() || a.how.shop_url.empty())) {
    throw std::invalid_argument("--db mysql needs --locks-url and --shop-url (./dev demo --db mysql gives both)");
  }
  if (!a.how.mysql) a.how.locks_url = a.how.owner_url = a.how.shop_url = "";  // may come from the environment
  a.how.kill_one = !a.no_kill;
  a.how.think = std::chrono::microseconds{a.think_us};
  a.how.ttl = std::chrono::milliseconds{a.ttl_ms};
  fs::create_directories(a.how.folder);
}

struct input {
  std::vector<product> products{};
  orders_file orders{};
  std::size_t bad_orders = 0;
};

input read_input(const arguments& a) {
  input in;
  std::vector<bad_line> bad;
  in.products = read_products(a.products, bad);
  const auto bad_products = bad.size();
  in.orders = read_orders(a.orders, in.products, bad);
  in.bad_orders = bad.size() - bad_products;
  report_bad_lines(bad, a.how.folder / "bad_lines.txt");
  if (in.orders.orders.empty()) throw std::invalid_argument(a.orders.string() + " has no good line");
  return in;
}

/// Prints the table and the verdict. Returns the exit code.
int conclude(const std::vector<run_report>& runs, const input& in, bool killed_one) {
  fmt::print("\n");
  print_table(runs, in.orders, in.bad_orders);
  fmt::print("\n");
  int code = 0;
  for (const auto& run : runs) {
    if (!run.locked) {
      if (run.books.oversold_units + run.books.books_off == 0) {
        fmt::print("Without locks: nothing went wrong this time, by luck. Try more workers.\n");
      } else {
        fmt::print("Without locks: {} units sold that nobody had; the stock is off by {} units.\n",
                   grouped(run.books.oversold_units), grouped(run.books.books_off));
      }
      for (const auto& problem : run.sale.problems) fmt::print("  {}\n", problem);
      if (!run.sale.problems.empty()) code = 1;  // oversold is what is expected here, a crash is not
      continue;
    }
    if (run.sale.leases_lost + run.sale.tried_again > 0) {
      fmt::print("With dlock: leases lost: {}, late writes refused: {}, attempts repeated: {}; see the logs in {}.\n",
                 run.sale.leases_lost, run.sale.stale_writes, run.sale.tried_again, run.folder.string());
    }
    const auto wrong = violations(run, in.orders, killed_one);
    if (wrong.empty()) {
      fmt::print("With dlock: nothing oversold, no order lost or served twice, and the stock adds up.\n");
      continue;
    }
    code = 1;
    fmt::print("With dlock: FAILED\n");
    for (const auto& what : wrong) fmt::print("  {}\n", what);
  }
  return code;
}

int generate(const arguments& a) {
  fs::create_directories(a.how.folder);
  const auto products = a.how.folder / "products.csv";
  const auto orders = a.how.folder / "orders.csv";
  const auto made = generate_input(a.input, products, orders);
  fmt::print("{}: {} products\n{}: {} orders, {} sent twice, {} malformed lines\n", products.string(),
             grouped(static_cast<long long>(a.input.products)), orders.string(),
             grouped(static_cast<long long>(made.fresh)), grouped(static_cast<long long>(made.duplicates)),
             grouped(static_cast<long long>(made.malformed)));
  return 0;
}

int run(arguments a) {
  finish(a);
  const auto in = read_input(a);
  const auto report = run_sale(a.how, !a.no_locks, in.products, in.orders.orders);
  return conclude({report}, in, a.how.kill_one && a.how.workers > 1);
}

int demo(arguments a) {
  if (a.quick) a.input.orders = 1'500;
  finish(a);
  a.products = a.how.folder / "products.csv";
  a.orders = a.how.folder / "orders.csv";
  fmt::print("A flash sale: {} products, {} lines of orders, {} worker processes, {}.\nFiles are in {}\n\n",
             grouped(static_cast<long long>(a.input.products)), grouped(static_cast<long long>(a.input.orders)),
             a.how.workers, a.how.mysql ? "MySQL or MariaDB" : "SQLite", a.how.folder.string());
  generate_input(a.input, a.products, a.orders);
  const auto in = read_input(a);
  fmt::print("\n");
  std::vector<run_report> reports;
  reports.push_back(run_sale(a.how, true, in.products, in.orders.orders));
  reports.push_back(run_sale(a.how, false, in.products, in.orders.orders));
  return conclude(reports, in, a.how.kill_one && a.how.workers > 1);
}

int parse_and_run(int argc, char** argv) {
  arguments a;
  a.how.folder = fs::read_symlink("/proc/self/exe").parent_path() / "sale";
  CLI::App app("A flash sale served by several processes under distributed locks.", "flash_sale");
  app.require_subcommand(1);
  auto* const generate_verb = app.add_subcommand("generate", "write products.csv and orders.csv");
  add_input_options(*generate_verb, a);
  add_folder_option(*generate_verb, a);
  auto* const run_verb = app.add_subcommand("run", "serve a file of orders");
  run_verb->add_option("products", a.products, "products.csv: sku,name,price_cents,stock")
      ->required()
      ->check(CLI::ExistingFile);
  run_verb->add_option("orders", a.orders, "orders.csv: order_id,customer,sku,quantity")
      ->required()
      ->check(CLI::ExistingFile);
  run_verb->add_flag("--no-locks", a.no_locks, "to see what happens");
  add_sale_options(*run_verb, a);
  add_folder_option(*run_verb, a);
  auto* const demo_verb = app.add_subcommand("demo", "generate, run with locks, run without, compare");
  demo_verb->add_flag("--quick", a.quick, "1,500 orders");
  add_input_options(*demo_verb, a);
  add_sale_options(*demo_verb, a);
  add_folder_option(*demo_verb, a);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    return app.exit(problem) == 0 ? 0 : 2;
  }
  if (*generate_verb) return generate(a);
  return *run_verb ? run(a) : demo(a);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc == 2 && std::string_view(argv[1]) == "worker") return flash_sale::run_worker(STDIN_FILENO);
  return parse_and_run(argc, argv);
} catch (const std::exception& problem) {
  std::fflush(stdout);
  fmt::print(stderr, "flash_sale: {}\n", problem.what());
  return 2;
}
