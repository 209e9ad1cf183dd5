// SPDX-License-Identifier: BSL-1.0
// What dlock itself costs, without a database: the memory store.
#include <malloc.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

#include "dlock/dlock.hpp"
#include "dlock/stores/memory.hpp"
#include "harness.hpp"

namespace {

thread_local std::size_t allocations = 0;

/// Heap in use now.
std::size_t heap() { return ::mallinfo2().uordblks; }

}  // namespace

void* operator new(std::size_t size) {
  ++allocations;
  if (void* const made = std::malloc(size)) return made;
  throw std::bad_alloc();
}
void operator delete(void* what) noexcept { std::free(what); }
void operator delete(void* what, std::size_t) noexcept { std::free(what); }

namespace {

using namespace dlock;

constexpr int many = 100'000;
constexpr int few = 1'000;

std::string key_number(int i) { return fmt::format("held:{:06}", i); }

void pairs() {
  lock_service locks{"memory:"};
  const lock_key name("order:4711");
  const lock_options options;
  std::vector<double> again, pair;
  const auto outer = locks.acquire(name, options);
  const auto before = locks.statements();
  for (int round = 0; round < 51; ++round) {
    again.push_back(bench::time_us(20'000, [&] { const lease inner = locks.acquire(name, options); }));
  }
  for (auto& each : again) each *= 1000;
  bench::figures::add("re-entry", "ns", again);
  fmt::print("re-entry: {:.0f} ns, {} statements in {} re-entries\n", bench::median(again), locks.statements() - before,
             51 * 20'000);

  const lock_key other("order:4712");
  for (int round = 0; round < 51; ++round) {
    pair.push_back(bench::time_us(2'000, [&] { const lease held = locks.acquire(other, options); }));
  }
  allocations = 0;
  for (int i = 0; i < few; ++i) const lease held = locks.acquire(other, options);
  fmt::print("acquire+release on the memory store: {:.2f} us, {:.2f} allocations (the store's among them)\n",
             bench::median(pair), static_cast<double>(allocations) / few);
}

/// What the rows of so many held keys take in the store itself.
std::size_t bytes_of_rows() {
  stores::memory_store rows;
  rows.prepare();
  fault why;
  const auto link = rows.connect(std::chrono::seconds{1}, why);
  const auto before = heap();
  for (int i = 0; i < many; ++i) {
    const auto key = key_number(i);
    const request ask{.action = verb::insert, .resource = key, .session = id128::random(), .nonce = 1};
    reply answer;
    rows.execute(*link, {&ask, 1}, {&answer, 1});
  }
  return heap() - before;
}

/// One owner that holds very many keys: neither time nor memory may depend on how many there are.
void many_held() {
  const auto rows = bytes_of_rows();
  lock_service locks{"memory:"};
  std::vector<lock_key> keys;
  for (int i = 0; i < many; ++i) keys.emplace_back(key_number(i));
  std::vector<lease> held;
  held.reserve(many);
  { const auto warm = locks.acquire("warm"); }
  const auto before = heap();
  int next = 0;
  const auto take = [&] { held.push_back(locks.acquire(keys[static_cast<std::size_t>(next++)])); };
  const auto first = bench::time_us(few, take);
  bench::time_us(many - 2 * few, take);
  const auto last = bench::time_us(few, take);
  const auto each = (static_cast<double>(heap() - before) - static_cast<double>(rows)) / many - sizeof(lock_key);
  bench::figures::add("a held lock beside its key", "bytes", {each}, {.at_most = 480});
  fmt::print(
      "{} keys held by one owner: the first {} acquires {:.2f} us, the last {:.2f} us (x {:.2f}); {:.0f} bytes each "
      "besides its key and the store's row\n",
      many, few, first, last, last / first, each);
  const auto begun = std::chrono::steady_clock::now();
  held.clear();
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begun;
  fmt::print("their release: {:.2f} us each\n", took.count() / many);
}

}  // namespace

int main() {
  pairs();
  many_held();
  return bench::figures::exit_code();
}
