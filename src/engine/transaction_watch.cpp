// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/transaction_watch.hpp"

#include <atomic>

namespace dlock::detail {

namespace {
std::atomic<transaction_watch*> watch{nullptr};
}

void watch_transactions(transaction_watch& with) noexcept { watch.store(&with, std::memory_order_release); }

transaction_watch* watched_transactions() noexcept { return watch.load(std::memory_order_acquire); }

}  // namespace dlock::detail
