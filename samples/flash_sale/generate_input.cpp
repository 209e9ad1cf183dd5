// SPDX-License-Identifier: BSL-1.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string_view>

#include "input.hpp"

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

/// The first is a good line, the others are malformed, each in its way; {before} is the id of an order that is there.
constexpr std::array<std::string_view, 13> forms{"{id},\"{customer}\",{sku},{n}",
                                                 "{id},\"{customer}\"",
                                                 "{id},\"{customer}\",{sku},{n},express",
                                                 "{id},\"{customer}\",{sku},two",
                                                 "{id},\"{customer}\",SKU-9999,{n}",
                                                 "{id},\"{customer}\",{sku},-{n}",
                                                 "{id},\"{customer}\",{sku},0",
                                                 "{id},B\xf6rje \xc3,{sku},{n}",
                                                 "{id},\"{customer},{sku},{n}",
                                                 "",
                                                 ",\"{customer}\",{sku},{n}",
                                                 "{id},\"{customer}\",{sku},99999999999999999999",
                                                 "{before},\"{customer} II\",{sku},{n}"};

std::string to_line(std::size_t form, const order& o, const std::string& before = {}) {
  return fmt::format(fmt::runtime(forms.at(form)), fmt::arg("id", o.id), fmt::arg("customer", o.customer),
                     fmt::arg("sku", o.sku), fmt::arg("n", o.quantity), fmt::arg("before", before));
}

/// Six of ten orders want a hot product, the first ones more than the others.
std::size_t pick_product(const generator_options& options, dice& random) {
  const auto hot = std::min(options.hot, options.products);
  if (hot == 0 || !random.percent(60)) return random.below(options.products);
  return std::min(random.below(hot), random.below(hot));
}

void write_file(const std::filesystem::path& file, std::string_view header, const std::vector<std::string>& lines) {
  std::ofstream out(file, std::ios::binary);
  out << header << '\n';
  for (const auto& line : lines) out << line << '\n';
  out.close();
  if (!out) throw std::runtime_error(fmt::format("cannot write {}: {}", file.string(), std::strerror(errno)));
}

}  // namespace

void generate_input(const generator_options& options, const std::filesystem::path& folder) {
  dice random(options.seed);
  std::size_t malformed = 0;
  std::vector<std::int64_t> demand(options.products);
  std::vector<order> orders;  // the fresh ones
  std::vector<std::string> lines;
  while (lines.size() < options.orders) {
    if (!orders.empty() && random.percent(3)) {
      // Clicked twice: mostly at once, sometimes a while later.
      const auto back = random.percent(70) ? 0 : random.below(std::min<std::size_t>(orders.size(), 500));
      lines.push_back(to_line(0, orders[orders.size() - 1 - back]));
      continue;
    }
    const auto product = pick_product(options, random);
    order o{.id = fmt::format("A-{:06}", lines.size() + 1),
            .customer = fmt::format("{} {}", random.one_of(first_names), random.one_of(last_names)),
            .sku = fmt::format("SKU-{:03}", product + 1),
            .quantity = random.percent(75) ? 1 : static_cast<std::int64_t>(2 + random.below(2))};
    if (!orders.empty() && random.percent(1)) {  // one after the other, so that a file of a few has each of them
      lines.push_back(to_line(1 + malformed++ % (forms.size() - 1), o, orders.back().id));
      continue;
    }
    lines.push_back(to_line(0, o));
    demand[product] += o.quantity;
    orders.push_back(std::move(o));
  }
  write_file(folder / "orders.csv", "order_id,customer,sku,quantity", lines);
  lines.clear();
  for (std::size_t i = 0; i < options.products; ++i) {
    const auto share = i < options.hot ? 40 + random.below(20) : 70 + random.below(50);
    lines.push_back(fmt::format("SKU-{:03},\"{} no. {}\",{},{}", i + 1, random.one_of(goods), i + 1,
                                990 + 10 * random.below(20'000), demand[i] * static_cast<std::int64_t>(share) / 100));
  }
  write_file(folder / "products.csv", "sku,name,price_cents,stock", lines);
}

}  // namespace flash_sale
