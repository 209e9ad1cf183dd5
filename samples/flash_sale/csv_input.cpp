// SPDX-License-Identifier: GPL-2.0-or-later
#include "csv_input.hpp"

#include <fmt/format.h>

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
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f || (byte >= 0x80 && !readable)) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + (cut ? "...'" : "'");
}

std::string trimmed(std::string text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
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
  if (text.size() > most) {
    throw refused{fmt::format("{} is longer than {} bytes", field, most), shown(text)};
  }
  return text;
}

std::vector<std::string> four_fields(std::string_view line) {
  if (line.size() > max_line) throw refused{fmt::format("line is longer than {} bytes", max_line)};
  if (line.find_first_not_of(" \t") == std::string_view::npos) throw refused{"empty line"};
  if (!is_utf8(line)) throw refused{"not UTF-8", shown(line)};
  auto fields = split_csv(line);
  if (!fields) throw refused{"quotes do not match", shown(line)};
  for (const auto& field : *fields) {
    for (const char c : field) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) throw refused{"control character", shown(field)};
    }
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

std::optional<std::vector<std::string>> split_csv(std::string_view line) {
  std::vector<std::string> fields;
  std::size_t at = 0;
  for (;;) {
    while (at < line.size() && (line[at] == ' ' || line[at] == '\t')) ++at;
    std::string field;
    if (at < line.size() && line[at] == '"') {
      for (++at;; ++at) {
        if (at == line.size()) return std::nullopt;
        if (line[at] != '"') {
          field += line[at];
        } else if (at + 1 < line.size() && line[at + 1] == '"') {
          field += line[at++];
        } else {
          break;
        }
      }
      at = line.find_first_not_of(" \t", at + 1);
      if (at == std::string_view::npos) at = line.size();
      if (at < line.size() && line[at] != ',') return std::nullopt;
    } else {
      const auto end = std::min(line.find(',', at), line.size());
      field = line.substr(at, end - at);
      at = end;
    }
    fields.push_back(trimmed(std::move(field)));
    if (at == line.size()) return fields;
    ++at;
  }
}

bool is_utf8(std::string_view text) noexcept {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t size = lead < 0x80   ? 1
                             : lead < 0xc2 ? 0
                             : lead < 0xe0 ? 2
                             : lead < 0xf0 ? 3
                             : lead < 0xf5 ? 4
                                           : 0;
    if (size == 0 || i + size > text.size()) return false;
    for (std::size_t k = 1; k < size; ++k) {
      if ((static_cast<unsigned char>(text[i + k]) & 0xc0U) != 0x80) return false;
    }
    if (size > 2) {  // overlong forms, surrogates, beyond U+10FFFF
      const auto second = static_cast<unsigned char>(text[i + 1]);
      if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) || (lead == 0xf0 && second < 0x90) ||
          (lead == 0xf4 && second > 0x8f)) {
        return false;
      }
    }
    i += size;
  }
  return true;
}

}  // namespace flash_sale
