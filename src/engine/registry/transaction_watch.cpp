// SPDX-License-Identifier: BSL-1.0
#include "engine/registry/transaction_watch.hpp"

#include <atomic>

namespace dlock::engine {

namespace {
std::atomic<transaction_watch*> watch{nullptr};
}

void watch_transactions(transaction_watch& with) noexcept { watch.store(&with, std::memory_order_release); }

transaction_watch* watched_transactions() noexcept { return watch.load(std::memory_order_acquire); }

}  // namespace dlock::engine
