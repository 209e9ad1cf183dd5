// SPDX-License-Identifier: GPL-2.0-or-later
#include <unistd.h>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "csv_input.hpp"
#include "generator.hpp"
#include "report.hpp"

namespace fs = std::filesystem;
using namespace flash_sale;

namespace {

class scratch {
 public:
  scratch() : folder_(fs::temp_directory_path() / ("flash_sale_test-" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
  }
  ~scratch() { fs::remove_all(folder_); }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  fs::path file(const std::string& name) const { return folder_ / name; }
  fs::path with(const std::string& name, const std::string& content) const {
    std::ofstream(file(name), std::ios::binary) << content;
    return file(name);
  }

 private:
  fs::path folder_;
};

std::string content(const fs::path& file) {
  std::ostringstream out;
  out << std::ifstream(file, std::ios::binary).rdbuf();
  return out.str();
}

const std::vector<product> tent{{.sku = "T", .name = "Tent", .price_cents = 100, .stock = 5}};

/// What becomes of a file of orders that has this one line.
std::string reading(const std::string& line) {
  const scratch dir;
  std::vector<bad_line> bad;
  const auto result = read_orders(dir.with("orders.csv", line + "\n"), tent, bad);
  if (result.orders.size() == 1 && bad.empty()) return "good";
  return bad.size() == 1 && result.orders.empty() ? to_string(bad[0]) : "?";
}

}  // namespace

TEST_CASE("csv: quoted fields keep commas, quotes and lose the blanks around them") {
  using fields = std::vector<std::string>;
  CHECK(split_csv("a,b") == fields{"a", "b"});
  CHECK(split_csv(R"( "Smith, Jr." , "say ""hi""",)") == fields{"Smith, Jr.", R"(say "hi")", ""});
  CHECK(split_csv("") == fields{""});
  CHECK_FALSE(split_csv(R"("open)"));
  CHECK_FALSE(split_csv(R"("a"b)"));
}

TEST_CASE("csv: text that is not UTF-8 is told from text that is") {
  CHECK(is_utf8("Zo\xc3\xab \xe7\x8e\x8b \xf0\x9f\x99\x82"));
  for (const auto* const broken : {"\xf6", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xe0\x80\x80"}) {
    CHECK_FALSE(is_utf8(broken));
  }
}

TEST_CASE("orders: each kind of bad line is reported with file, line and reason") {
  CHECK(reading("A1,Anna,T,1") == "good");
  CHECK(reading("\xef\xbb\xbf"
                "A1,\"Smith, Jr.\",T,100\r") == "good");
  CHECK(reading("A1,Anna,T") == "orders.csv:1: missing fields: 3 of 4 in 'A1,Anna,T'");
  CHECK(reading("A1,Anna,T,1,") == "orders.csv:1: too many fields: 5 of 4 in 'A1,Anna,T,1,'");
  CHECK(reading("A1,Anna,T,two") == "orders.csv:1: quantity is not a whole number: 'two'");
  CHECK(reading("A1,Anna,T,1.5") == "orders.csv:1: quantity is not a whole number: '1.5'");
  CHECK(reading("A1,Anna,T,") == "orders.csv:1: quantity is not a whole number: ''");
  CHECK(reading("A1,Anna,T,0") == "orders.csv:1: quantity must be 1 to 100: '0'");
  CHECK(reading("A1,Anna,T,-1") == "orders.csv:1: quantity must be 1 to 100: '-1'");
  CHECK(reading("A1,Anna,T,99999999999999999999") == "orders.csv:1: quantity must be 1 to 100: '99999999999999999999'");
  CHECK(reading("A1,Anna,X,1") == "orders.csv:1: unknown product: 'X'");
  CHECK(reading(",Anna,T,1") == "orders.csv:1: order_id is empty");
  CHECK(reading("A1,,T,1") == "orders.csv:1: customer is empty");
  CHECK(reading("") == "orders.csv:1: empty line");
  CHECK(reading("A1,\"Anna,T,1") == "orders.csv:1: quotes do not match: 'A1,\"Anna,T,1'");
  CHECK(reading("A1,B\xf6,T,1") == "orders.csv:1: not UTF-8: 'A1,B\\xf6,T,1'");
  CHECK(reading("A1,An\x1bna,T,1") == "orders.csv:1: control character: 'An\\x1bna'");
  CHECK(reading(std::string("A1,An\0na,T,1", 12)) == "orders.csv:1: control character: 'An\\x00na'");
  CHECK(reading(std::string(2'000, 'x')) == "orders.csv:1: line is longer than 1000 bytes");
}

TEST_CASE("orders: a repeated line is a duplicate, a line that reuses its id for something else is bad") {
  const scratch dir;
  std::vector<bad_line> bad;
  const auto result = read_orders(
      dir.with("orders.csv", "order_id,customer,sku,quantity\nA,Anna,T,1\n\nA,Anna,T,1\nA,Anna,T,2\nB,B,T,1"), tent,
      bad);
  CHECK(result.lines == 5);
  REQUIRE(result.orders.size() == 3);
  CHECK(result.orders[1].line == 4);
  CHECK(result.distinct == 2);
  REQUIRE(bad.size() == 2);
  CHECK(to_string(bad[1]) == "orders.csv:5: order_id used before for something else: 'A', line 2");
}

TEST_CASE("generator: one seed gives one file, and the reader finds in it what was put in") {
  const scratch dir;
  const generator_options options{.orders = 5'000, .seed = 7};
  const auto made = generate_input(options, dir.file("p1"), dir.file("o1"));
  generate_input(options, dir.file("p2"), dir.file("o2"));
  CHECK(content(dir.file("o1")) == content(dir.file("o2")));
  CHECK(content(dir.file("p1")) == content(dir.file("p2")));
  generate_input({.orders = 5'000, .seed = 8}, dir.file("p2"), dir.file("o2"));
  CHECK(content(dir.file("o1")) != content(dir.file("o2")));

  std::vector<bad_line> bad;
  const auto products = read_products(dir.file("p1"), bad);
  CHECK(bad.empty());
  CHECK(products.size() == 40);
  const auto orders = read_orders(dir.file("o1"), products, bad);
  CHECK(orders.lines == 5'000);
  CHECK(orders.distinct == made.fresh);
  CHECK(orders.orders.size() == made.fresh + made.duplicates);
  CHECK(bad.size() == made.malformed);
  CHECK(made.duplicates > 0);
  CHECK(count_by_reason(bad).size() == 10);
}

TEST_CASE("audit: a clean sale has nothing to report") {
  const std::vector<order> orders{{.line = 2, .id = "A", .sku = "T", .quantity = 3},
                                  {.line = 3, .id = "B", .sku = "T", .quantity = 3},
                                  {.line = 4, .id = "A", .sku = "T", .quantity = 3}};
  const std::vector<book_entry> book{
      {.order_id = "A", .line = 2, .sku = "T", .quantity = 3},
      {.order_id = "B", .line = 3, .sku = "T", .quantity = 3, .what = outcome::sold_out}};
  const auto books = audit_books(tent, orders, {{"T", 2}}, book);
  CHECK(books.sold_orders == 1);
  CHECK(books.refused_orders == 1);
  CHECK(books.oversold_units + books.books_off + books.lost_orders + books.served_twice + books.wrongly_refused == 0);
}

TEST_CASE("audit: each kind of damage is counted") {
  const std::vector<order> orders{{.line = 2, .id = "A", .sku = "T", .quantity = 3},
                                  {.line = 3, .id = "B", .sku = "T", .quantity = 3},
                                  {.line = 4, .id = "C", .sku = "T", .quantity = 1}};
  // Both read 5, both write 2: a lost update. A is booked twice, C not at all.
  const std::vector<book_entry> book{
      {.order_id = "A", .line = 2, .sku = "T", .quantity = 3},
      {.order_id = "B", .line = 3, .sku = "T", .quantity = 3},
      {.order_id = "A", .line = 2, .sku = "T", .quantity = 2, .what = outcome::sold_out}};
  const auto books = audit_books(tent, orders, {{"T", 2}}, book);
  CHECK(books.oversold_units == 1);
  CHECK(books.books_off == 3);
  CHECK(books.lost_orders == 1);
  CHECK(books.served_twice == 1);
  CHECK(books.wrongly_refused == 1);

  orders_file input{.orders = orders, .lines = 3, .distinct = 3};
  run_report run{.books = books};
  CHECK(violations(run, input, true).size() == 9);
}

TEST_CASE("report: percentiles are values that occur, and numbers are grouped") {
  std::vector<std::uint32_t> none;
  CHECK(percentile(none, 50) == 0);
  std::vector<std::uint32_t> values{5, 1, 4, 2, 3};
  CHECK(percentile(values, 50) == 3);
  CHECK(percentile(values, 99) == 5);
  CHECK(percentile(values, 100) == 5);
  CHECK(percentile(values, 0) == 1);
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(-1'234'567) == "-1,234,567");
  CHECK(grouped(-123) == "-123");
}
