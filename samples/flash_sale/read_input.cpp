// SPDX-License-Identifier: BSL-1.0
#include <fmt/format.h>

#include <libfccp/csv.h>
#include <dlock/lock_key.hpp>
#include <fstream>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "input.hpp"

namespace flash_sale {
namespace {

constexpr std::size_t max_name = 64;       // as wide as the columns of the shop's tables
constexpr std::size_t max_customer = 200;  // in bytes
constexpr std::int64_t max_quantity = 100;
constexpr std::int64_t max_number = 1'000'000'000;

using csv = io::CSVReader<4, io::trim_chars<' ', '\t'>, io::double_quote_escape<',', '"'>>;

/// Why a line is refused; caught where the line is read, never further up.
struct refused {
  std::string reason;
  std::string detail{};
};

/// Foreign text, safe to show: no control characters, no broken encoding, not long.
std::string shown(std::string_view text) {
  constexpr std::size_t most = 40;
  if (text.empty()) return "''";
  return fmt::format("'{}{}'", dlock::printable(text.substr(0, most)), text.size() > most ? "..." : "");
}

void check_number(std::string_view field, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value >= least && value <= most) return;
  throw refused{fmt::format("{} must be {} to {}", field, least, most), shown(std::to_string(value))};
}

void check_text(std::string_view field, const std::string& text, std::size_t most) {
  if (text.empty()) throw refused{fmt::format("{} is empty", field)};
  if (text.size() > most) throw refused{fmt::format("{} is longer than {} bytes", field, most), shown(text)};
  if (dlock::printable(text) != text) throw refused{fmt::format("{} is not plain UTF-8 text", field), shown(text)};
}

/// Calls `take(reader)` until it says that there are no more lines; what it or the reader refuses is noted. Returns the
/// number of lines behind the header.
template <class Take>
std::size_t for_each_line(const std::filesystem::path& file, csv& in, std::vector<bad_line>& bad, Take take) {
  const auto note = [&](std::string reason, std::string detail) {
    bad.push_back({file.filename().string(), in.get_file_line(), std::move(reason), std::move(detail)});
  };
  std::ifstream raw(file);  // beside the reader, which cuts the lines up
  std::string line;
  std::getline(raw, line);  // the header
  for (bool more = true; more;) {
    std::getline(raw, line);
    try {
      more = take();
    } catch (const refused& why) {
      note(why.reason, why.detail);
    } catch (const io::error::too_few_columns&) {
      note("missing fields", shown(line));
    } catch (const io::error::too_many_columns&) {
      note("too many fields", shown(line));
    } catch (const io::error::escaped_string_not_closed&) {
      note("quotes do not match", shown(line));
    } catch (const io::error::no_digit& at) {
      note(fmt::format("{} is not a whole number", at.column_name), shown(at.column_content));
    } catch (const io::error::integer_overflow& at) {
      note(fmt::format("{} is too large", at.column_name), shown(at.column_content));
    } catch (const io::error::integer_underflow& at) {
      note(fmt::format("{} is too small", at.column_name), shown(at.column_content));
    }
  }
  return in.get_file_line() - 1;
}

void read_products(const std::filesystem::path& file, sale_input& input) {
  std::unordered_set<std::string> known;
  csv in(file.string());
  in.read_header(io::ignore_no_column, "sku", "name", "price_cents", "stock");
  for_each_line(file, in, input.bad, [&] {
    product p;
    if (!in.read_row(p.sku, p.name, p.price_cents, p.stock)) return false;
    check_text("sku", p.sku, max_name);
    check_text("name", p.name, max_customer);
    check_number("price_cents", p.price_cents, 0, max_number);
    check_number("stock", p.stock, 0, max_number);
    if (!known.insert(p.sku).second) throw refused{"product listed before", shown(p.sku)};
    input.products.push_back(std::move(p));
    return true;
  });
}

void read_orders(const std::filesystem::path& file, sale_input& input) {
  std::unordered_set<std::string_view> known;
  for (const auto& p : input.products) known.insert(p.sku);
  std::unordered_map<std::string, std::size_t> first;  // order id -> index in input.orders
  csv in(file.string());
  in.read_header(io::ignore_no_column, "order_id", "customer", "sku", "quantity");
  input.order_lines = for_each_line(file, in, input.bad, [&] {
    order o;
    if (!in.read_row(o.id, o.customer, o.sku, o.quantity)) return false;
    o.line = in.get_file_line();
    check_text("order_id", o.id, max_name);
    check_text("customer", o.customer, max_customer);
    check_number("quantity", o.quantity, 1, max_quantity);
    if (known.count(o.sku) == 0) throw refused{"unknown product", shown(o.sku)};
    const auto [at, is_new] = first.try_emplace(o.id, input.orders.size());
    if (!is_new) {
      // The lock is the product's: two orders of one id and different products would not exclude each other.
      const auto& other = input.orders[at->second];
      if (other.sku != o.sku || other.quantity != o.quantity || other.customer != o.customer) {
        throw refused{"order_id used before for something else", fmt::format("{}, line {}", shown(o.id), other.line)};
      }
    }
    input.orders.push_back(std::move(o));
    return true;
  });
  input.distinct = first.size();
}

}  // namespace

std::string to_string(const bad_line& bad) {
  const auto text = fmt::format("{}:{}: {}", bad.file, bad.line, bad.reason);
  return bad.detail.empty() ? text : text + ": " + bad.detail;
}

sale_input read_input(const std::filesystem::path& folder) {
  sale_input input;
  read_products(folder / "products.csv", input);
  read_orders(folder / "orders.csv", input);
  return input;
}

}  // namespace flash_sale
