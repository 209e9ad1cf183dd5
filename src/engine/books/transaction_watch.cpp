// SPDX-License-Identifier: BSL-1.0
#include "engine/books/transaction_watch.hpp"

#include <array>
#include <atomic>

namespace dlock::engine {

namespace {
std::atomic<transaction_watch*> watch{nullptr};
}

void watch_transactions(transaction_watch& with) noexcept { watch.store(&with, std::memory_order_release); }

transaction_watch* watched_transactions() noexcept { return watch.load(std::memory_order_acquire); }

namespace {
constinit std::array<std::atomic<begin_function>, 8> begins{};
}

void set_write_begin(int kind, begin_function begin) noexcept {
  begins[static_cast<std::size_t>(kind) % begins.size()].store(begin, std::memory_order_release);
}

begin_function write_begin(int kind) noexcept {
  return begins[static_cast<std::size_t>(kind) % begins.size()].load(std::memory_order_acquire);
}

}  // namespace dlock::engine
