// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The names of lock nodes. Each key has a node, and that has a child for each holder and waiter, in the order of the
/// numbers that the server appends to their names.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlock/store_interface/id128.hpp"
#include "dlock/store_interface/store_types.hpp"
#include "stores/zookeeper/client/handle.hpp"

namespace dlock::stores::zookeeper {

/// A key as the name of a node. Bytes that a name can't contain become %XX. Different keys have different names.
std::string name_of_key(std::string_view key, bool at_root);
/// The key of a node's name, or nothing if dlock makes no such name.
std::optional<std::string> key_of_name(std::string_view name);

/// What the node of a caller that asks for a key is called, and so for what it asks.
struct contender {
  std::int32_t number = 0;  ///< its place: smaller ones come first
  bool shares = false;      ///< for a shared lock or a permit
};
/// Nothing if the node's owner does not ask for a lock of that recipe.
std::optional<contender> contender_of(node_names recipe, std::string_view name);

/// The nodes of one key, by the rules of a recipe: a writer holds the key if it is the first of them, a reader if no
/// writer comes before it, a permit's node if it is one of the first, as many as there are permits.
class lock_queue {
 public:
  lock_queue(node_names recipe, const std::vector<std::string>& names) : recipe_(recipe), names_(names) {}

  /// A child of a key's node that is no contender: of a recipe that dlock does not know, such as a semaphore, whose
  /// locks it can't respect. Empty if there is none.
  std::string foreign() const;
  /// The number of those that ask for the key.
  std::size_t size() const;
  /// All of them, in their order.
  std::vector<std::string> contenders() const;
  /// Those that hold it, in their order.
  std::vector<std::string> holders() const;
  /// A node that a new caller has to wait for; empty if there is none.
  std::string blocker(const key_mode& wanted) const;
  /// The node that `mine` has to wait for next; empty if it holds the key. Nothing if it is not in the list, which then
  /// is from a time before or after it existed, and says nothing about its place. `permits`: of how many it is one.
  std::optional<std::string> before(std::string_view mine, std::uint32_t permits = 0) const;

 private:
  std::string nearest(std::optional<std::int32_t> own, bool only_writers) const;

  const node_names recipe_;
  const std::vector<std::string>& names_;
};
/// The error text about a foreign node.
std::string foreign_text(node_names recipe, const std::string& path, const std::string& node);

/// 32 hexadecimal digits that identify one attempt, so that its node is found when the answer to its creation was lost.
std::string attempt_id(const id128& session, std::uint64_t nonce);
/// The part of the name before the number, as in that recipe.
std::string node_prefix(node_names recipe, std::string_view attempt, bool shares);

/// The contents of a node of ours, for operators: "dlock <session> <ms> <host>/<pid> <label>".
struct node_data {
  id128 session{};
  std::int64_t timeout_ms = 0;  ///< of its session
  std::string host{};
  std::int64_t pid = 0;
  std::string label{};

  std::string text() const;
  /// "host/pid label", for messages.
  std::string who() const;
  /// Returns nothing if the node is another program's.
  static std::optional<node_data> parse(std::string_view text);
};

}  // namespace dlock::stores::zookeeper
