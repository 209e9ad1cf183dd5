// SPDX-License-Identifier: GPL-2.0-or-later
//
// A flash sale: more customers than goods, several worker processes, one database. See README.md.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include "csv_input.hpp"
#include "generator.hpp"
#include "report.hpp"
#include "sale.hpp"

namespace {

using namespace flash_sale;
namespace fs = std::filesystem;

int generate(const settings& s) {
  fs::create_directories(s.folder);
  const auto products = s.folder / "products.csv";
  const auto orders = s.folder / "orders.csv";
  const auto made = generate_input(s.input, products, orders);
  fmt::print("{}: {} products\n{}: {} orders, {} sent twice, {} malformed lines\n", products.string(),
             grouped(s.input.products), orders.string(), grouped(made.fresh), grouped(made.duplicates),
             grouped(made.malformed));
  return 0;
}

void check(settings& s) {
  const bool mysql = s.database == "mysql";
  if (mysql && (s.locks_url.empty() || s.shop_url.empty())) {
    throw std::invalid_argument("--db mysql needs --locks-url and --shop-url (./dev demo --db mysql gives both)");
  }
  if (!mysql) s.locks_url = s.owner_url = s.shop_url = "";  // may come from the environment
  fs::create_directories(s.folder);
}

/// Runs with locks or without, one after the other, and compares. Returns the exit code.
int compare(settings s, const std::vector<bool>& with_locks) {
  const auto input = read_input(s.products, s.orders);
  report_bad_lines(input.bad, s.folder / "bad_lines.txt");
  if (input.orders.orders.empty()) throw std::invalid_argument(s.orders.string() + " has no good line");
  if (with_locks.size() > 1) fmt::print("\n");
  std::vector<run_report> runs;
  for (const bool locked : with_locks) {
    s.locked = locked;
    runs.push_back(run_sale(s, input.products, input.orders.orders));
  }
  print_table(runs, input);
  return print_verdict(runs, input.orders, s.kill_one && s.workers > 1) ? 0 : 1;
}

int demo(settings s) {
  s.products = s.folder / "products.csv";
  s.orders = s.folder / "orders.csv";
  fmt::print("A flash sale: {} products, {} lines of orders, {} worker processes, {}.\nFiles are in {}\n\n",
             grouped(s.input.products), grouped(s.input.orders), s.workers,
             s.database == "mysql" ? "MySQL or MariaDB" : "SQLite", s.folder.string());
  generate_input(s.input, s.products, s.orders);
  return compare(s, {true, false});
}

void add_input_options(CLI::App& verb, settings& s) {
  verb.add_option("--orders", s.input.orders, "lines in the file of orders")
      ->check(CLI::Range(1, 10'000'000))
      ->capture_default_str();
  verb.add_option("--products", s.input.products, "products on sale")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  verb.add_option("--seed", s.input.seed, "the same seed gives the same files")->capture_default_str();
}

void add_files(CLI::App& verb, settings& s) {
  verb.add_option("products", s.products, "products.csv: sku,name,price_cents,stock")
      ->required()
      ->check(CLI::ExistingFile);
  verb.add_option("orders", s.orders, "orders.csv: order_id,customer,sku,quantity")
      ->required()
      ->check(CLI::ExistingFile);
  verb.add_flag_callback(
      "--no-locks", [&s] { s.locked = false; }, "to see what happens");
}

void add_sale_options(CLI::App& verb, settings& s) {
  verb.add_option("--db", s.database, "database of the shop and of the locks")
      ->check(CLI::IsMember({"sqlite", "mysql"}))
      ->capture_default_str();
  verb.add_option("--locks-url", s.locks_url, "where the locks are; needed for --db mysql")
      ->envname("DLOCK_TEST_MYSQL_URL");
  verb.add_option("--owner-url", s.owner_url, "the same, by a user that may make the lock tables")
      ->envname("DLOCK_TEST_MYSQL_OWNER_URL");
  verb.add_option("--shop-url", s.shop_url, "where the shop's tables are; needed for --db mysql")
      ->envname("DLOCK_TEST_MYSQL_APP_URL");
  verb.add_option("--workers", s.workers, "worker processes")->check(CLI::Range(1, 64))->capture_default_str();
  verb.add_option("--think-us", s.think_us, "how long the payment service takes, in microseconds")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  verb.add_option("--ttl-ms", s.ttl_ms, "how long a dead worker's lock stays taken, in milliseconds")
      ->check(CLI::Range(1'000, 60'000))
      ->capture_default_str();
  verb.add_flag_callback(
      "--no-kill", [&s] { s.kill_one = false; }, "kill no worker");
}

int parse_and_run(int argc, char** argv) {
  settings s;
  s.folder = fs::read_symlink("/proc/self/exe").parent_path() / "sale";
  CLI::App app("A flash sale served by several processes under distributed locks.", "flash_sale");
  app.require_subcommand(1);
  auto* const generate_verb = app.add_subcommand("generate", "write products.csv and orders.csv");
  auto* const run_verb = app.add_subcommand("run", "serve a file of orders");
  auto* const demo_verb = app.add_subcommand("demo", "generate, run with locks, run without, compare");
  auto* const worker_verb = app.add_subcommand("worker")->group("");  // the program starts itself so
  for (auto* const verb : {generate_verb, demo_verb}) add_input_options(*verb, s);
  for (auto* const verb : {run_verb, worker_verb}) add_files(*verb, s);
  for (auto* const verb : {run_verb, demo_verb, worker_verb}) add_sale_options(*verb, s);
  for (auto* const verb : {generate_verb, run_verb, demo_verb}) {
    verb->add_option("--dir", s.folder, "where files are written; those of an earlier run are overwritten")
        ->capture_default_str();
  }
  demo_verb->add_flag_callback(
      "--quick", [&s] { s.input.orders = 1'500; }, "1,500 orders");
  worker_verb->add_option("--number", s.worker);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    return app.exit(problem) == 0 ? 0 : 2;
  }
  if (*worker_verb) return run_worker(s), 0;
  if (*generate_verb) return generate(s);
  check(s);
  return *run_verb ? compare(s, {s.locked}) : demo(s);
}

}  // namespace

int main(int argc, char** argv) try { return parse_and_run(argc, argv); } catch (const std::exception& problem) {
  std::fflush(stdout);
  fmt::print(stderr, "flash_sale: {}\n", problem.what());
  return 2;
}
