// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include "contract/store/store_contract.hpp"

namespace dlock::test {

/// A lock that could not be had in time is a kind of "no", where the place says that this may be.
inline bool contended(const store_fixture& fixture, const reply& r) {
  return fixture.may_be_contended() && r.result == outcome::failed && r.why.contended;
}

inline std::vector<std::unique_ptr<actor>> crowd(store_fixture& fixture, std::size_t size) {
  std::vector<std::unique_ptr<actor>> actors;
  for (std::size_t i = 0; i < size; ++i) actors.push_back(std::make_unique<actor>(fixture));
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

/// At most one of them got it. Where nobody did, because their votes were split, nothing of them is left.
inline void check_one_got(store_fixture& fixture, const std::vector<reply>& replies, actor& another,
                          std::string_view key) {
  if (fixture.votes_may_split() && count_yes(replies) == 0) {
    CHECK(answer(another.insert(key)) == outcome::yes);
    return;
  }
  REQUIRE(count_yes(replies) == 1);
}

}  // namespace dlock::test
