// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <algorithm>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include "contract/store/store_contract.hpp"

namespace dlock::test {

/// A lock that could not be had in time is a kind of "no".
inline bool contended(const reply& r) { return r.result == outcome::failed && r.why.contended; }

inline std::vector<std::unique_ptr<actor>> crowd(store_place& place, std::size_t size) {
  std::vector<std::unique_ptr<actor>> actors;
  for (std::size_t i = 0; i < size; ++i) actors.push_back(std::make_unique<actor>(place));
  return actors;
}

/// Calls one(actor, index) in a thread for each, all at once; the replies.
template <class One>
std::vector<reply> all_at_once(std::vector<std::unique_ptr<actor>>& who, One call) {
  std::vector<reply> replies(who.size());
  std::latch start(static_cast<std::ptrdiff_t>(who.size()));
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < who.size(); ++i) {
      threads.emplace_back([&, i] {
        start.arrive_and_wait();
        replies[i] = call(*who[i]);
      });
    }
  }
  return replies;
}

inline std::ptrdiff_t count_yes(const std::vector<reply>& replies) {
  return std::count_if(replies.begin(), replies.end(), [](const reply& r) { return r.result == outcome::yes; });
}

}  // namespace dlock::test
