// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "catalogue/facts.hpp"

namespace dlock_gen {

/// One call on the way from a function that holds a lock to one that takes another.
struct chain_link {
  std::string caller{};
  std::string callee{};
  listed_place place{};
};

/// A function holds a lock while one that it calls, directly or not, takes another.
struct nested_locks {
  listed_lock holder{};
  listed_lock taker{};
  std::vector<chain_link> chain{};
};

/// An annotated function that is called on the object itself: what is generated is passed by, and no lock is taken.
struct bypass {
  std::string caller{};
  std::string callee{};
  listed_place place{};
  bool qualified = false;  ///< shop::place(): the call is of that class, not of what derives from it
};

struct order_findings {
  std::vector<nested_locks> nested{};
  std::vector<bypass> bypasses{};
};

/// Which locks are held while others are taken. What a virtual call leads to, is each function that overrides it.
order_findings find_order(const code_facts& facts);

/// Two that take each other's keys in opposite orders: indices into order_findings::nested.
struct opposite_order {
  std::size_t first = 0;
  std::size_t second = 0;
};
/// One for each pair of domains. A call that makes one attempt does not wait, and is in none.
std::vector<opposite_order> find_opposite(const std::vector<nested_locks>& nested);

/// Whether a key of the one domain can be a key of the other: order:{} and order:42, but not order:{} and user:{}. A
/// value never has a ':' in it. "?" is a key that is known at run time alone, and is taken for none.
bool overlap(std::string_view left, std::string_view right);

}  // namespace dlock_gen
