// SPDX-License-Identifier: BSL-1.0
// What composing a key costs beside formatting the same text with fmt. The contestants take turns within each
// round, so that a machine that is busy for a while is busy for all of them; medians of the rounds are printed.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "dlock/key.hpp"
#include "dlock/key_of.hpp"

namespace {

constexpr int rounds = 301;
constexpr int calls_per_round = 2'000;

struct order {
  int id;
  std::string customer;
  int line;
};

// Keeps the compiler from dropping the work: the address of the result escapes.
template <class T>
void keep(const T& value) {
  asm volatile("" : : "r"(&value) : "memory");
}

template <class Work>
double nanoseconds_per_call(const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i != calls_per_round; ++i) work(i);
  const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - begin;
  return spent.count() / calls_per_round;
}

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

int main() {
  order o{4211, "Ann Arbor", 7};
  const auto projected =
      dlock::key_of("order", dlock::arg<1>(&order::id), dlock::arg<1>(&order::customer), dlock::arg<1>(&order::line));

  const auto format_to = [&o](int i) {
    o.id = i;
    std::string text;
    fmt::format_to(std::back_inserter(text), "order:{}:{}:{}", o.id, o.customer, o.line);
    keep(text);
  };
  const auto format = [&o](int i) {
    o.id = i;
    keep(fmt::format("order:{}:{}:{}", o.id, o.customer, o.line));
  };
  const auto pattern = [&o](int i) {
    o.id = i;
    keep(dlock::key<"order:{id}:{customer}:{line}">(o));
  };
  const auto projections = [&](int i) {
    o.id = i;
    keep(projected(o));
  };
  const auto plain = [](int) { keep(dlock::lock_key("order:4211:Ann Arbor:7")); };

  std::array<std::vector<double>, 5> spent;
  for (int round = 0; round != rounds; ++round) {
    spent[0].push_back(nanoseconds_per_call(format_to));
    spent[1].push_back(nanoseconds_per_call(format));
    spent[2].push_back(nanoseconds_per_call(pattern));
    spent[3].push_back(nanoseconds_per_call(projections));
    spent[4].push_back(nanoseconds_per_call(plain));
  }

  constexpr std::array<std::string_view, 5> names{"fmt::format_to a string", "fmt::format", "key<\"...\">", "key_of",
                                                  "lock_key from text"};
  const double baseline = median(spent[0]);
  for (std::size_t i = 0; i != spent.size(); ++i) {
    const double time = median(spent[i]);
    fmt::print("{:<24} {:7.1f} ns  {:5.2f} x\n", names[i], time, time / baseline);
  }
}
