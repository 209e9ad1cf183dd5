// SPDX-License-Identifier: GPL-2.0-or-later
#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>

#include "progress.hpp"

namespace flash_sale {
namespace {

template <class Number>
std::string count(Number number) {
  return grouped(static_cast<long long>(number));
}

std::string milliseconds(std::uint32_t us) {
  if (us >= 100'000) return count(us / 1'000) + " ms";
  return fmt::format("{:.1f} ms", static_cast<double>(us) / 1'000);
}

class table {
 public:
  explicit table(std::vector<run_report> runs) : runs_(std::move(runs)) {}
  void line(std::string_view label, const std::function<std::string(run_report&)>& cell) {
    fmt::print("{:<42}", label);
    for (auto& run : runs_) fmt::print("{:>16}", cell(run));
    fmt::print("\n");
  }
  void rule() const { fmt::print("{:-<{}}\n", "", 42 + 16 * runs_.size()); }

 private:
  std::vector<run_report> runs_;
};

}  // namespace

void report_bad_lines(const std::vector<bad_line>& bad, const std::filesystem::path& file) {
  constexpr std::size_t most = 10;
  std::ofstream all(file);
  for (const auto& line : bad) all << to_string(line) << '\n';
  all.close();
  for (std::size_t i = 0; i < std::min(bad.size(), most); ++i) fmt::print("  {}\n", to_string(bad[i]));
  if (bad.size() > most) fmt::print("  ... and {} more\n", grouped(static_cast<long long>(bad.size() - most)));
  if (bad.empty()) return;
  fmt::print("{} bad lines are left out{}:\n", grouped(static_cast<long long>(bad.size())),
             all ? fmt::format(" (all of them: {})", file.string()) : "");
  for (const auto& [reason, times] : count_by_reason(bad)) fmt::print("  {:>6}  {}\n", times, reason);
}

void print_table(const std::vector<run_report>& runs, const orders_file& input, std::size_t bad_lines) {
  table t(runs);
  t.line("", [](auto& r) { return r.title; });
  t.rule();
  t.line("lines in the file", [&](auto&) { return count(input.lines); });
  t.line("  bad lines, left out", [&](auto&) { return count(bad_lines); });
  t.line("orders", [&](auto&) { return count(input.orders.size()); });
  t.line("  sold", [](auto& r) { return count(r.sale.sold); });
  t.line("  refused: sold out", [](auto& r) { return count(r.sale.sold_out); });
  t.line("  refused: sent twice", [](auto& r) { return count(r.sale.duplicates); });
  t.rule();
  t.line("units oversold (must be 0)", [](auto& r) { return count(r.books.oversold_units); });
  t.line("orders served twice (must be 0)", [](auto& r) { return count(r.books.served_twice); });
  t.line("orders lost (must be 0)", [](auto& r) { return count(r.books.lost_orders); });
  t.line("units the stock is off by (must be 0)", [](auto& r) { return count(r.books.books_off); });
  t.rule();
  t.line("workers killed with -9", [](auto& r) { return count(r.sale.killed); });
  t.line("  their orders, done by others", [](auto& r) { return count(r.sale.done_again); });
  t.line("  their locks, taken over", [](auto& r) { return r.locked ? count(r.sale.take_overs) : "-"; });
  t.line("  taken over after", [](auto& r) {
    return r.sale.take_over_delay ? fmt::format("{} ms", count(r.sale.take_over_delay->count())) : "-";
  });
  t.rule();
  for (const double percent : {50.0, 99.0, 100.0}) {
    t.line(percent < 100 ? fmt::format("wait for the lock, p{:.0f}", percent) : "wait for the lock, longest",
           [&](auto& r) { return r.locked ? milliseconds(percentile(r.sale.waits_us, percent)) : "-"; });
  }
  t.line("run time",
         [](auto& r) { return fmt::format("{:.1f} s", static_cast<double>(r.sale.elapsed.count()) / 1'000); });
  t.line("orders per second", [&](auto& r) {
    return count(std::llround(static_cast<double>(input.orders.size()) * 1'000 /
                              static_cast<double>(std::max<std::int64_t>(1, r.sale.elapsed.count()))));
  });
}

std::vector<std::string> violations(const run_report& run, const orders_file& input, bool killed_one) {
  std::vector<std::string> found = run.sale.problems;
  const auto must_be = [&](std::string_view what, auto is, auto expected) {
    if (static_cast<long long>(is) != static_cast<long long>(expected)) {
      found.push_back(fmt::format("{}: {}, must be {}", what, count(is), count(expected)));
    }
  };
  const auto& books = run.books;
  must_be("units oversold", books.oversold_units, 0);
  must_be("orders served twice", books.served_twice, 0);
  must_be("orders lost", books.lost_orders, 0);
  must_be("units the stock is off by", books.books_off, 0);
  must_be("orders refused though there was stock", books.wrongly_refused, 0);
  must_be("orders in the book", books.sold_orders + books.refused_orders, input.distinct);
  must_be("orders told as sold", run.sale.sold, books.sold_orders);
  must_be("orders told as sold out", run.sale.sold_out, books.refused_orders);
  must_be("orders told as sent twice", run.sale.duplicates, input.orders.size() - input.distinct);
  if (killed_one) {
    must_be("workers killed", run.sale.killed, 1);
    if (run.sale.take_overs == 0) found.emplace_back("the killed worker's lock was never taken over");
  }
  return found;
}

std::uint32_t percentile(std::vector<std::uint32_t>& values, double percent) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(std::ceil(percent / 100 * static_cast<double>(values.size())));
  return values[std::clamp<std::size_t>(rank, 1, values.size()) - 1];
}

}  // namespace flash_sale
