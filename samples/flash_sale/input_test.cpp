// SPDX-License-Identifier: BSL-1.0
#include <unistd.h>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "input.hpp"
#include "report.hpp"

namespace fs = std::filesystem;
using namespace flash_sale;

namespace {

/// A folder of its own for each test.
struct scratch {
  scratch() { fs::create_directories(folder); }
  ~scratch() { fs::remove_all(folder); }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  /// What is read of a file of orders with these lines; there is one product, T.
  sale_input read(const std::string& lines) const {
    std::ofstream(folder / "products.csv", std::ios::binary) << "sku,name,price_cents,stock\nT,Tent,100,5\n";
    std::ofstream(folder / "orders.csv", std::ios::binary) << "order_id,customer,sku,quantity\n" << lines;
    return read_input(folder);
  }
  /// Both files as they are made of a seed.
  std::string generated(std::uint64_t seed) const {
    generate_input({.orders = 5'000, .seed = seed}, folder);
    std::ostringstream out;
    out << std::ifstream(folder / "products.csv").rdbuf() << std::ifstream(folder / "orders.csv").rdbuf();
    return out.str();
  }
  const fs::path folder = fs::temp_directory_path() / ("flash_sale_test-" + std::to_string(::getpid()));
};

/// What becomes of one line of a file of orders.
std::string reading(const std::string& line) {
  const auto input = scratch().read(line + "\n");
  if (input.orders.size() == 1 && input.bad.empty()) return "good";
  return input.bad.size() == 1 && input.orders.empty() ? to_string(input.bad[0]) : "?";
}

}  // namespace

TEST_CASE("orders: each kind of bad line is reported with file, line and reason") {
  CHECK(reading("A1,Anna,T,1") == "good");
  CHECK(reading("A1, \"Smith, \"\"Jr.\"\"\" ,T,100\r") == "good");
  CHECK(reading("A1,Zo\xc3\xab \xe7\x8e\x8b \xf0\x9f\x99\x82,T,1") == "good");
  CHECK(reading("A1,Anna,T") == "orders.csv:2: missing fields: 'A1,Anna,T'");
  CHECK(reading("") == "orders.csv:2: missing fields: ''");
  CHECK(reading(std::string("A1,An\0na,T,1", 12)) == "orders.csv:2: missing fields: 'A1,An\\x00na,T,1'");
  CHECK(reading("A1,Anna,T,1,") == "orders.csv:2: too many fields: 'A1,Anna,T,1,'");
  CHECK(reading("A1,\"Anna,T,1") == "orders.csv:2: quotes do not match: 'A1,\"Anna,T,1'");
  CHECK(reading("A1,Anna,T,two") == "orders.csv:2: quantity is not a whole number: 'two'");
  CHECK(reading("A1,Anna,T,1.5") == "orders.csv:2: quantity is not a whole number: '1.5'");
  CHECK(reading("A1,Anna,T,") == "orders.csv:2: quantity must be 1 to 100: '0'");
  CHECK(reading("A1,Anna,T,-1") == "orders.csv:2: quantity must be 1 to 100: '-1'");
  CHECK(reading("A1,Anna,T,99999999999999999999") == "orders.csv:2: quantity is too large: '99999999999999999999'");
  CHECK(reading("A1,Anna,T,-99999999999999999999") == "orders.csv:2: quantity is too small: '-99999999999999999999'");
  CHECK(reading("A1,Anna,X,1") == "orders.csv:2: unknown product: 'X'");
  CHECK(reading(",Anna,T,1") == "orders.csv:2: order_id is empty");
  CHECK(reading("A1,,T,1") == "orders.csv:2: customer is empty");
  CHECK(reading("A1,B\xf6,T,1") == "orders.csv:2: customer is not plain UTF-8 text: 'B\\xf6'");
  CHECK(reading("A1,An\x1bna,T,1") == "orders.csv:2: customer is not plain UTF-8 text: 'An\\x1bna'");
  CHECK(reading("A1," + std::string(201, 'x') + ",T,1") ==
        "orders.csv:2: customer is longer than 200 bytes: '" + std::string(40, 'x') + "...'");
}

TEST_CASE("orders: a repeated line is a duplicate, a line that reuses its id for something else is bad") {
  const auto input = scratch().read("A,Anna,T,1\n\nA,Anna,T,1\nA,Anna,T,2\nB,B,T,1");
  CHECK(input.order_lines == 5);
  REQUIRE(input.orders.size() == 3);
  CHECK(input.orders[1].line == 4);
  CHECK(input.distinct == 2);
  REQUIRE(input.bad.size() == 2);
  CHECK(to_string(input.bad[1]) == "orders.csv:5: order_id used before for something else: 'A', line 2");
}

TEST_CASE("generator: one seed gives one file, with duplicates and each kind of bad line in it") {
  const scratch dir;
  const auto files = dir.generated(7);
  CHECK(dir.generated(8) != files);
  CHECK(dir.generated(7) == files);

  const auto input = read_input(dir.folder);
  std::set<std::string> reasons;
  for (const auto& bad : input.bad) reasons.insert(bad.reason);
  CHECK(input.products.size() == 40);
  CHECK(input.order_lines == 5'000);
  CHECK(input.orders.size() == 5'000 - input.bad.size());
  CHECK(input.distinct < input.orders.size());
  CHECK(reasons.size() == 10);
}

TEST_CASE("audit: a clean sale has nothing to report, and each kind of damage is counted") {
  const sale_input input{.products = {{.sku = "T", .stock = 5}},
                         .orders = {{.line = 2, .id = "A", .sku = "T", .quantity = 3},
                                    {.line = 3, .id = "B", .sku = "T", .quantity = 3},
                                    {.line = 4, .id = "A", .sku = "T", .quantity = 3}},
                         .distinct = 2};
  const std::vector<product> after{{.sku = "T", .stock = 2}};
  const book_entry sold{.order_id = "A", .line = 2, .sku = "T", .quantity = 3};
  book_entry other{.order_id = "B", .line = 3, .sku = "T", .quantity = 3, .what = outcome::sold_out};
  run_report run{.sale = {.sold = 1, .sold_out = 1, .duplicates = 1},
                 .books = audit_books(input, after, {sold, other})};
  CHECK(run.books.sold_orders == 1);
  CHECK(run.books.refused_orders == 1);
  CHECK(violations(run, input, false).empty());
  CHECK(violations(run, input, true).size() == 2);  // nobody was killed, so nobody took over

  // Both read 5, both write 2: a lost update. A is booked twice, C not at all.
  auto more = input;
  more.orders[2].id = "C";
  more.distinct = 3;
  other.what = outcome::sold;
  const book_entry again{.order_id = "A", .line = 2, .sku = "T", .quantity = 2, .what = outcome::sold_out};
  run = {.books = audit_books(more, after, {sold, other, again})};
  CHECK(run.books.oversold_units == 1);
  CHECK(run.books.books_off == 3);
  CHECK(run.books.lost_orders == 1);
  CHECK(run.books.served_twice == 1);
  CHECK(run.books.wrongly_refused == 1);
  CHECK(violations(run, more, true).size() == 9);
}
