// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "catalogue/facts.hpp"

namespace dlock_gen {

/// One call in the chain from a function that holds a lock to one that takes another.
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

/// A call of an annotated function on the object itself, which bypasses the generated class and takes no lock.
struct bypass {
  std::string caller{};
  std::string callee{};
  listed_place place{};
  bool qualified = false;  ///< shop::place(): a call of that class's function, not of an override
};

struct order_findings {
  std::vector<nested_locks> nested{};
  std::vector<bypass> bypasses{};
};

/// Finds locks that are held while others are taken. A virtual call leads to each function that overrides it.
order_findings find_order(const code_facts& facts);

/// Two that take each other's keys in opposite orders: indices into order_findings::nested.
struct opposite_order {
  std::size_t first = 0;
  std::size_t second = 0;
};
/// Returns one for each pair of domains. A call that makes one attempt does not wait, and is in none.
std::vector<opposite_order> find_opposite(const std::vector<nested_locks>& nested);

/// Whether a key of one domain can be a key of the other: order:{} and order:42, but not order:{} and user:{}. A value
/// never contains a ':'. "?" is a key that is only known at run time, and overlaps with none.
bool overlap(std::string_view left, std::string_view right);

}  // namespace dlock_gen
