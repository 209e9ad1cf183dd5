// SPDX-License-Identifier: GPL-2.0-or-later
#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <set>
#include <string_view>
#include <unordered_map>

namespace flash_sale {
namespace {

std::string milliseconds(std::uint32_t us) {
  if (us >= 100'000) return grouped(us / 1'000) + " ms";
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

audit audit_books(const std::vector<product>& products, const std::vector<order>& orders,
                  const std::map<std::string, std::int64_t>& stock_after, const std::vector<book_entry>& book) {
  audit result;
  std::unordered_map<std::string_view, std::int64_t> sold;
  std::unordered_map<std::string_view, std::int64_t> answers;
  for (const auto& entry : book) {
    result.served_twice += ++answers[entry.order_id] > 1 ? 1 : 0;
    if (entry.what == outcome::sold) {
      ++result.sold_orders;
      sold[entry.sku] += entry.quantity;
    } else {
      ++result.refused_orders;
      // Stock only ever falls, so what is there at the end was there when the order was refused.
      result.wrongly_refused += stock_after.at(entry.sku) >= entry.quantity ? 1 : 0;
    }
  }
  for (const auto& p : products) {
    result.oversold_units += std::max<std::int64_t>(0, sold[p.sku] - p.stock);
    result.books_off += std::abs(p.stock - sold[p.sku] - stock_after.at(p.sku));
  }
  std::set<std::string_view> asked;
  for (const auto& o : orders) {
    if (asked.insert(o.id).second && answers.count(o.id) == 0) ++result.lost_orders;
  }
  return result;
}

void report_bad_lines(const std::vector<bad_line>& bad, const std::filesystem::path& file) {
  constexpr std::size_t most = 10;
  std::ofstream all(file);
  for (const auto& line : bad) all << to_string(line) << '\n';
  all.close();
  for (std::size_t i = 0; i < std::min(bad.size(), most); ++i) fmt::print("  {}\n", to_string(bad[i]));
  if (bad.size() > most) fmt::print("  ... and {} more\n", grouped(bad.size() - most));
  if (bad.empty()) return;
  fmt::print("{} bad lines are left out{}:\n", grouped(bad.size()),
             all ? fmt::format(" (all of them: {})", file.string()) : "");
  for (const auto& [reason, times] : count_by_reason(bad)) fmt::print("  {:>6}  {}\n", times, reason);
}

void print_table(const std::vector<run_report>& runs, const sale_input& input) {
  fmt::print("\n");
  table t(runs);
  const auto orders = input.orders.orders.size();
  t.line("", [](auto& r) { return r.title; });
  t.rule();
  t.line("lines in the file", [&](auto&) { return grouped(input.orders.lines); });
  t.line("  bad lines, left out", [&](auto&) { return grouped(input.bad_orders); });
  t.line("orders", [&](auto&) { return grouped(orders); });
  t.line("  sold", [](auto& r) { return grouped(r.sale.sold); });
  t.line("  refused: sold out", [](auto& r) { return grouped(r.sale.sold_out); });
  t.line("  refused: sent twice", [](auto& r) { return grouped(r.sale.duplicates); });
  t.rule();
  t.line("units oversold (must be 0)", [](auto& r) { return grouped(r.books.oversold_units); });
  t.line("orders served twice (must be 0)", [](auto& r) { return grouped(r.books.served_twice); });
  t.line("orders lost (must be 0)", [](auto& r) { return grouped(r.books.lost_orders); });
  t.line("units the stock is off by (must be 0)", [](auto& r) { return grouped(r.books.books_off); });
  t.rule();
  t.line("workers killed with -9", [](auto& r) { return grouped(r.sale.killed); });
  t.line("  their orders, done by others", [](auto& r) { return grouped(r.sale.done_again); });
  t.line("  their locks, taken over", [](auto& r) { return r.locked ? grouped(r.sale.take_overs) : "-"; });
  t.line("  taken over after", [](auto& r) {
    return r.sale.take_over_delay ? fmt::format("{} ms", grouped(r.sale.take_over_delay->count())) : "-";
  });
  t.rule();
  for (const double percent : {50.0, 99.0, 100.0}) {
    t.line(percent < 100 ? fmt::format("wait for the lock, p{:.0f}", percent) : "wait for the lock, longest",
           [&](auto& r) { return r.locked ? milliseconds(percentile(r.sale.waits_us, percent)) : "-"; });
  }
  const auto seconds = [](const run_report& r) { return std::chrono::duration<double>(r.sale.elapsed).count(); };
  t.line("run time", [&](auto& r) { return fmt::format("{:.1f} s", seconds(r)); });
  t.line("orders per second",
         [&](auto& r) { return grouped(std::llround(static_cast<double>(orders) / std::max(0.001, seconds(r)))); });
  fmt::print("\n");
}

bool print_verdict(const std::vector<run_report>& runs, const orders_file& input, bool killed_one) {
  bool right = true;
  for (const auto& run : runs) {
    auto wrong = run.locked ? violations(run, input, killed_one) : run.sale.problems;
    if (!run.locked && run.books.oversold_units + run.books.books_off == 0) {
      fmt::print("Without locks: nothing went wrong this time, by luck. Try more workers.\n");
    } else if (!run.locked) {  // oversold is what is expected here, a crash is not
      fmt::print("Without locks: {} units sold that nobody had; the stock is off by {} units.\n",
                 grouped(run.books.oversold_units), grouped(run.books.books_off));
    } else {
      if (run.sale.leases_lost + run.sale.tried_again > 0) {
        fmt::print("With dlock: leases lost: {}, late writes refused: {}, attempts repeated: {}; see the logs in {}.\n",
                   run.sale.leases_lost, run.sale.stale_writes, run.sale.tried_again, run.folder.string());
      }
      fmt::print("With dlock: {}\n",
                 wrong.empty() ? "nothing oversold, no order lost or served twice, and the stock adds up." : "FAILED");
    }
    for (const auto& what : wrong) fmt::print("  {}\n", what);
    right = right && wrong.empty();
  }
  return right;
}

std::vector<std::string> violations(const run_report& run, const orders_file& input, bool killed_one) {
  std::vector<std::string> found = run.sale.problems;
  const auto must_be = [&](std::string_view what, auto is, auto expected) {
    if (static_cast<std::size_t>(is) == static_cast<std::size_t>(expected)) return;
    found.push_back(fmt::format("{}: {}, must be {}", what, grouped(is), grouped(expected)));
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
  if (killed_one) must_be("workers killed", run.sale.killed, 1);
  if (killed_one && run.sale.take_overs == 0) found.emplace_back("the killed worker's lock was never taken over");
  return found;
}

std::uint32_t percentile(std::vector<std::uint32_t>& values, double percent) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(std::ceil(percent / 100 * static_cast<double>(values.size())));
  return values[std::clamp<std::size_t>(rank, 1, values.size()) - 1];
}

}  // namespace flash_sale
