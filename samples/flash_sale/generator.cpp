// SPDX-License-Identifier: GPL-2.0-or-later
#include "generator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "entities.hpp"

namespace flash_sale {
namespace {

/// The engine's numbers are the same everywhere; those of the standard distributions are not.
class dice {
 public:
  explicit dice(std::uint64_t seed) : engine_(seed) {}
  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(engine_() % limit); }
  bool percent(std::size_t chance) { return below(100) < chance; }
  template <std::size_t N>
  std::string_view one_of(const std::array<std::string_view, N>& choices) {
    return choices[below(N)];
  }

 private:
  std::mt19937_64 engine_;
};

constexpr std::array<std::string_view, 10> first_names{"Anna",   "Björn",  "Chloé", "Dimitri", "Eun-ji",
                                                       "Fatima", "George", "王伟",  "Iñaki",   "Zoë"};
constexpr std::array<std::string_view, 10> last_names{"Schmidt", "Okafor", "Nguyen", "O'Neill",  "Kowalski",
                                                      "García",  "Haddad", "Sato",   "Ångström", "Smith, Jr."};
constexpr std::array<std::string_view, 8> goods{"Headphones",  "Espresso machine", "Running shoes", "Tent, 2 persons",
                                                "Phone 16 GB", "Rain jacket",      "Office chair",  "Bicycle light"};

/// No text of ours has a quote.
std::string field(std::string_view text) {
  return text.find(',') == std::string_view::npos ? std::string(text) : fmt::format("\"{}\"", text);
}

std::string to_line(const order& o) {
  return fmt::format("{},{},{},{}", field(o.id), field(o.customer), field(o.sku), o.quantity);
}

std::vector<product> make_products(const generator_options& options, dice& random) {
  std::vector<product> products;
  for (std::size_t i = 0; i < options.products; ++i) {
    products.push_back({.sku = fmt::format("SKU-{:03}", i + 1),
                        .name = fmt::format("{} no. {}", random.one_of(goods), i + 1),
                        .price_cents = static_cast<std::int64_t>(990 + 10 * random.below(20'000))});
  }
  return products;
}

/// Six of ten orders want a hot product, the first ones more than the others.
std::size_t pick_product(const generator_options& options, dice& random) {
  const auto hot = std::min(options.hot, options.products);
  if (hot == 0 || !random.percent(60)) return random.below(options.products);
  return std::min(random.below(hot), random.below(hot));
}

/// One malformed line; `kind` counts up, so that a file of a few has each of them.
std::string malformed(std::size_t kind, const order& good, const order& earlier) {
  order o = good;
  switch (kind % 12) {
    case 0: return fmt::format("{},{}", field(o.id), field(o.customer));
    case 1: return to_line(o) + ",express";
    case 2: return fmt::format("{},{},{},two", field(o.id), field(o.customer), field(o.sku));
    case 3: o.sku = "SKU-9999"; return to_line(o);
    case 4: o.quantity = -o.quantity; return to_line(o);
    case 5: o.quantity = 0; return to_line(o);
    case 6: return fmt::format("{},B\xf6rje \xc3,{},{}", field(o.id), field(o.sku), o.quantity);
    case 7: return fmt::format("{},\"{},{},{}", field(o.id), o.customer, field(o.sku), o.quantity);
    case 8: return "";
    case 9: o.id.clear(); return to_line(o);
    case 10: return fmt::format("{},{},{},99999999999999999999", field(o.id), field(o.customer), field(o.sku));
    default:
      o.id = earlier.id;
      o.quantity = earlier.quantity + 1;
      return to_line(o);
  }
}

void write_file(const std::filesystem::path& file, std::string_view header, const std::vector<std::string>& lines) {
  std::ofstream out(file, std::ios::binary);
  out << header << '\n';
  for (const auto& line : lines) out << line << '\n';
  out.close();
  if (!out) throw std::runtime_error(fmt::format("cannot write {}: {}", file.string(), std::strerror(errno)));
}

}  // namespace

generated generate_input(const generator_options& options, const std::filesystem::path& products_file,
                         const std::filesystem::path& orders_file) {
  dice random(options.seed);
  generated made;
  auto products = make_products(options, random);
  std::vector<order> orders;  // the fresh ones
  std::vector<std::string> lines;
  while (lines.size() < options.orders) {
    if (!orders.empty() && random.percent(3)) {
      // Clicked twice: mostly at once, sometimes a while later.
      const auto back = random.percent(70) ? 0 : random.below(std::min<std::size_t>(orders.size(), 500));
      lines.push_back(to_line(orders[orders.size() - 1 - back]));
      ++made.duplicates;
      continue;
    }
    const auto which = pick_product(options, random);
    order o{.id = fmt::format("A-{:06}", lines.size() + 1),
            .customer = fmt::format("{} {}", random.one_of(first_names), random.one_of(last_names)),
            .sku = products[which].sku,
            .quantity = random.percent(75) ? 1 : static_cast<std::int64_t>(2 + random.below(2))};
    if (!orders.empty() && random.percent(1)) {
      lines.push_back(malformed(made.malformed++, o, orders.back()));
      continue;
    }
    lines.push_back(to_line(o));
    products[which].stock += o.quantity;  // the demand; the stock is made of it below
    orders.push_back(std::move(o));
    ++made.fresh;
  }
  for (std::size_t i = 0; i < products.size(); ++i) {
    const auto share = i < options.hot ? 40 + random.below(20) : 70 + random.below(50);
    products[i].stock = products[i].stock * static_cast<std::int64_t>(share) / 100;
  }
  write_file(orders_file, "order_id,customer,sku,quantity", lines);
  lines.clear();
  for (const auto& p : products) {
    lines.push_back(fmt::format("{},{},{},{}", field(p.sku), field(p.name), p.price_cents, p.stock));
  }
  write_file(products_file, "sku,name,price_cents,stock", lines);
  return made;
}

}  // namespace flash_sale
