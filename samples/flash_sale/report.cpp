// SPDX-License-Identifier: BSL-1.0
#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <string_view>

#include "support/console.hpp"

namespace flash_sale {
namespace {

using support::grouped;

/// The wait that `percent` of all are not above.
std::string percentile(std::vector<std::chrono::nanoseconds> waits, std::size_t percent) {
  if (waits.empty()) return "-";
  const auto at = waits.begin() + static_cast<std::ptrdiff_t>((waits.size() - 1) * percent / 100);
  std::ranges::nth_element(waits, at);
  const std::chrono::duration<double, std::milli> ms = *at;
  return ms.count() < 100 ? fmt::format("{:.1f} ms", ms.count()) : grouped(std::llround(ms.count())) + " ms";
}

}  // namespace

audit audit_books(const sale_input& input, const std::vector<product>& after, const std::vector<book_entry>& book) {
  audit result;
  std::map<std::string_view, std::int64_t> left;
  std::map<std::string_view, std::int64_t> sold;
  std::map<std::string_view, std::int64_t> answers;
  for (const auto& p : after) left[p.sku] = p.stock;
  for (const auto& o : input.orders) answers[o.id] = 0;
  for (const auto& entry : book) {
    result.served_twice += ++answers[entry.order_id] > 1 ? 1 : 0;
    if (entry.what == outcome::sold) {
      ++result.sold_orders;
      sold[entry.sku] += entry.quantity;
    } else {
      ++result.refused_orders;
      // Stock only ever falls, so what is there at the end was there when the order was refused.
      result.wrongly_refused += left.at(entry.sku) >= entry.quantity ? 1 : 0;
    }
  }
  for (const auto& p : input.products) {
    result.oversold_units += std::max<std::int64_t>(0, sold[p.sku] - p.stock);
    result.books_off += std::abs(p.stock - sold[p.sku] - left.at(p.sku));
  }
  for (const auto& [id, times] : answers) result.lost_orders += times == 0 ? 1 : 0;
  return result;
}

void report_bad_lines(const std::vector<bad_line>& bad, const std::filesystem::path& file) {
  constexpr std::size_t most = 10;
  std::map<std::string, std::size_t> counts;
  std::ofstream all(file);
  for (const auto& line : bad) {
    all << to_string(line) << '\n';
    ++counts[line.reason];
  }
  all.close();
  for (std::size_t i = 0; i < std::min(bad.size(), most); ++i) fmt::print("  {}\n", to_string(bad[i]));
  if (bad.size() > most) fmt::print("  ... and {} more\n", grouped(bad.size() - most));
  if (bad.empty()) return;
  fmt::print("{} bad lines are left out{}:\n", grouped(bad.size()),
             all ? fmt::format(" (all of them: {})", file.string()) : "");
  for (const auto& [reason, times] : counts) fmt::print("  {:>6}  {}\n", times, reason);
}

void print_table(const std::vector<run_report>& runs, const sale_input& input) {
  const auto line = [&](std::string_view label, const std::function<std::string(const run_report&)>& cell) {
    fmt::print("{:<42}", label);
    for (const auto& run : runs) fmt::print("{:>16}", cell(run));
    fmt::print("\n");
  };
  const auto number = [&](std::string_view label, const auto& value) {
    line(label, [&](const run_report& r) { return grouped(value(r)); });
  };
  const auto rule = [&] { fmt::print("{:-<{}}\n", "", 42 + 16 * runs.size()); };
  const auto orders = input.orders.size();
  const auto seconds = [](const run_report& r) { return std::max(0.001, r.sale.elapsed.count()); };

  fmt::print("\n");
  line("", [](auto& r) { return r.title; });
  rule();
  number("lines in the file", [&](auto&) { return input.order_lines; });
  number("  bad lines, left out", [&](auto&) { return input.order_lines - orders; });
  number("orders", [&](auto&) { return orders; });
  number("  sold", [](auto& r) { return r.sale.sold; });
  number("  refused: sold out", [](auto& r) { return r.sale.sold_out; });
  number("  refused: sent twice", [](auto& r) { return r.sale.duplicates; });
  rule();
  number("units oversold (must be 0)", [](auto& r) { return r.books.oversold_units; });
  number("orders served twice (must be 0)", [](auto& r) { return r.books.served_twice; });
  number("orders lost (must be 0)", [](auto& r) { return r.books.lost_orders; });
  number("units the stock is off by (must be 0)", [](auto& r) { return r.books.books_off; });
  rule();
  number("workers killed with -9", [](auto& r) { return r.sale.killed; });
  number("  their orders, done by others", [](auto& r) { return r.sale.done_again; });
  line("  their locks, taken over", [](auto& r) { return r.locked ? grouped(r.sale.take_overs) : "-"; });
  line("  taken over after", [](auto& r) {
    return r.sale.take_over_delay ? fmt::format("{} ms", grouped(r.sale.take_over_delay->count())) : "-";
  });
  rule();
  line("wait for the lock, p50", [](auto& r) { return percentile(r.sale.waits, 50); });
  line("wait for the lock, p99", [](auto& r) { return percentile(r.sale.waits, 99); });
  line("wait for the lock, longest", [](auto& r) { return percentile(r.sale.waits, 100); });
  line("run time", [&](auto& r) { return fmt::format("{:.1f} s", seconds(r)); });
  number("orders per second", [&](auto& r) { return std::llround(static_cast<double>(orders) / seconds(r)); });
  fmt::print("\n");
}

bool print_verdict(const std::vector<run_report>& runs, const sale_input& input, bool killed_one) {
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
    for (const auto& violation : wrong) fmt::print("  {}\n", violation);
    right = right && wrong.empty();
  }
  return right;
}

std::vector<std::string> violations(const run_report& run, const sale_input& input, bool killed_one) {
  std::vector<std::string> found = run.sale.problems;
  const auto must_be = [&](std::string_view rule, auto is, auto expected) {
    if (static_cast<std::size_t>(is) == static_cast<std::size_t>(expected)) return;
    found.push_back(fmt::format("{}: {}, must be {}", rule, grouped(is), grouped(expected)));
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

}  // namespace flash_sale
