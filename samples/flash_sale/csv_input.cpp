// SPDX-License-Identifier: GPL-2.0-or-later
#include "csv_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string/classification.hpp>
#include <boost/algorithm/string/trim.hpp>
#include <boost/locale/utf.hpp>
#include <boost/spirit/home/x3.hpp>
#include <charconv>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>

namespace flash_sale {
namespace {

constexpr std::size_t max_line = 1'000;
constexpr std::size_t max_name = 64;       // as wide as the columns of the shop's tables
constexpr std::size_t max_customer = 200;  // in bytes
constexpr std::int64_t max_quantity = 100;
constexpr std::int64_t max_number = 1'000'000'000;

/// Why a line is refused; caught where the line is read, never further up.
struct refused {
  std::string reason;
  std::string detail{};
};

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

/// Shows foreign text safely: no control characters, no broken encoding, not long.
std::string shown(std::string_view text) {
  constexpr std::size_t most = 40;
  const bool cut = text.size() > most;
  const bool readable = is_utf8(text);
  if (cut) {
    text = text.substr(0, most);
    while (readable && !is_utf8(text)) text.remove_suffix(1);  // not through the middle of a character
  }
  std::string out = "'";
  for (const char c : text) {
    const bool is_shown = !is_control(c) && (readable || static_cast<unsigned char>(c) < 0x80);
    out += is_shown ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return out + (cut ? "...'" : "'");
}

std::int64_t whole_number(std::string_view field, std::string_view text, std::int64_t least, std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem == std::errc::invalid_argument || end != text.data() + text.size()) {
    throw refused{fmt::format("{} is not a whole number", field), shown(text)};
  }
  if (problem != std::errc{} || value < least || value > most) {
    throw refused{fmt::format("{} must be {} to {}", field, least, most), shown(text)};
  }
  return value;
}

std::string name(std::string_view field, std::string text, std::size_t most) {
  if (text.empty()) throw refused{fmt::format("{} is empty", field)};
  if (text.size() > most) throw refused{fmt::format("{} is longer than {} bytes", field, most), shown(text)};
  return text;
}

std::vector<std::string> four_fields(std::string_view line) {
  if (line.size() > max_line) throw refused{fmt::format("line is longer than {} bytes", max_line)};
  if (line.find_first_not_of(" \t") == std::string_view::npos) throw refused{"empty line"};
  if (!is_utf8(line)) throw refused{"not UTF-8", shown(line)};
  auto fields = split_csv(line);
  if (!fields) throw refused{"quotes do not match", shown(line)};
  for (const auto& field : *fields) {
    if (std::any_of(field.begin(), field.end(), is_control)) throw refused{"control character", shown(field)};
  }
  if (fields->size() != 4) {
    throw refused{fields->size() < 4 ? "missing fields" : "too many fields",
                  fmt::format("{} of 4 in {}", fields->size(), shown(line))};
  }
  return std::move(*fields);
}

/// Calls `take(line number, line)` for each line that is not the header; what it refuses is noted.
/// Returns the number of these lines.
template <class Take>
std::size_t for_each_line(const std::filesystem::path& file, std::string_view header, std::vector<bad_line>& bad,
                          Take take) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error(fmt::format("cannot read {}: {}", file.string(), std::strerror(errno)));
  std::size_t number = 0;
  std::size_t lines = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (number == 1 && line.rfind("\xef\xbb\xbf", 0) == 0) line.erase(0, 3);
    if (number == 1 && line == header) continue;
    ++lines;
    try {
      take(number, line);
    } catch (const refused& why) {
      bad.push_back({file.filename().string(), number, why.reason, why.detail});
    }
  }
  if (in.bad()) throw std::runtime_error(fmt::format("cannot read {} to its end", file.string()));
  return lines;
}

}  // namespace

std::string to_string(const bad_line& bad) {
  auto text = fmt::format("{}:{}: {}", bad.file, bad.line, bad.reason);
  return bad.detail.empty() ? text : text + ": " + bad.detail;
}

std::map<std::string, std::size_t> count_by_reason(const std::vector<bad_line>& bad) {
  std::map<std::string, std::size_t> counts;
  for (const auto& line : bad) ++counts[line.reason];
  return counts;
}

std::vector<product> read_products(const std::filesystem::path& file, std::vector<bad_line>& bad) {
  std::vector<product> products;
  std::unordered_set<std::string> known;
  for_each_line(file, "sku,name,price_cents,stock", bad, [&](std::size_t, std::string_view line) {
    auto fields = four_fields(line);
    product p{.sku = name("sku", std::move(fields[0]), max_name),
              .name = name("name", std::move(fields[1]), max_customer),
              .price_cents = whole_number("price_cents", fields[2], 0, max_number),
              .stock = whole_number("stock", fields[3], 0, max_number)};
    if (!known.insert(p.sku).second) throw refused{"product listed before", shown(p.sku)};
    products.push_back(std::move(p));
  });
  return products;
}

orders_file read_orders(const std::filesystem::path& file, const std::vector<product>& products,
                        std::vector<bad_line>& bad) {
  orders_file result;
  std::unordered_set<std::string_view> known;
  for (const auto& p : products) known.insert(p.sku);
  std::unordered_map<std::string, std::size_t> first;  // order id -> index in result.orders
  result.lines =
      for_each_line(file, "order_id,customer,sku,quantity", bad, [&](std::size_t number, std::string_view line) {
        auto fields = four_fields(line);
        order o{.line = static_cast<std::int64_t>(number),
                .id = name("order_id", std::move(fields[0]), max_name),
                .customer = name("customer", std::move(fields[1]), max_customer),
                .sku = name("sku", std::move(fields[2]), max_name),
                .quantity = whole_number("quantity", fields[3], 1, max_quantity)};
        if (known.count(o.sku) == 0) throw refused{"unknown product", shown(o.sku)};
        const auto [at, is_new] = first.try_emplace(o.id, result.orders.size());
        if (!is_new) {
          // The lock is the product's: two orders of one id and different products would not exclude each other.
          const auto& other = result.orders[at->second];
          if (other.sku != o.sku || other.quantity != o.quantity || other.customer != o.customer) {
            throw refused{"order_id used before for something else",
                          fmt::format("{}, line {}", shown(o.id), other.line)};
          }
        }
        result.orders.push_back(std::move(o));
      });
  result.distinct = first.size();
  return result;
}

sale_input read_input(const std::filesystem::path& products, const std::filesystem::path& orders) {
  sale_input input;
  input.products = read_products(products, input.bad);
  const auto bad_products = input.bad.size();
  input.orders = read_orders(orders, input.products, input.bad);
  input.bad_orders = input.bad.size() - bad_products;
  return input;
}

std::optional<std::vector<std::string>> split_csv(std::string_view line) {
  namespace x3 = boost::spirit::x3;
  const auto quoted = x3::rule<struct quoted_field, std::string>{} =
      x3::lexeme['"' >> *((x3::lit("\"\"") >> x3::attr('"')) | ~x3::char_('"')) >> '"'];
  const auto plain = x3::rule<struct plain_field, std::string>{} = x3::lexeme[!x3::lit('"') >> *~x3::char_(',')];
  std::vector<std::string> fields;
  auto at = line.begin();
  if (!x3::phrase_parse(at, line.end(), (quoted | plain) % ',', x3::blank, fields) || at != line.end()) {
    return std::nullopt;
  }
  for (auto& field : fields) boost::trim_if(field, boost::is_any_of(" \t"));
  return fields;
}

bool is_utf8(std::string_view text) noexcept {
  using boost::locale::utf::is_valid_codepoint;
  using traits = boost::locale::utf::utf_traits<char>;
  for (auto at = text.begin(); at != text.end();) {
    if (!is_valid_codepoint(traits::decode(at, text.end()))) return false;
  }
  return true;
}

}  // namespace flash_sale
