// SPDX-License-Identifier: GPL-2.0-or-later
// What dlock itself costs, without a database: the memory store.
#include <chrono>

#include "dlock/dlock.hpp"
#include "dlock/stores/memory.hpp"
#include "harness.hpp"

int main() {
  using namespace dlock;
  lock_service locks{"memory:"};
  const lock_key name("order:4711");
  const lock_options options;

  std::vector<double> again, pair;
  const auto outer = locks.acquire(name, options);
  const auto before = locks.statements();
  for (int round = 0; round < 51; ++round) {
    again.push_back(bench::time_us(20'000, [&] { const lease inner = locks.acquire(name, options); }));
  }
  fmt::print("re-entry: {:.0f} ns, {} statements in {} re-entries\n", bench::median(again) * 1000,
             locks.statements() - before, 51 * 20'000);

  const lock_key other("order:4712");
  for (int round = 0; round < 51; ++round) {
    pair.push_back(bench::time_us(2'000, [&] { const lease held = locks.acquire(other, options); }));
  }
  fmt::print("acquire+release on the memory store: {:.2f} us\n", bench::median(pair));
}
