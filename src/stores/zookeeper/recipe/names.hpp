// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The names of lock nodes. Each key has a node, and that has a child for each holder and waiter, in the order of the
/// numbers that the server appends to their names.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlock/store_interface/id128.hpp"
#include "stores/zookeeper/client/handle.hpp"

namespace dlock::stores::zookeeper {

/// A key as the name of a node. Bytes that a name can't contain become %XX. Different keys have different names.
std::string name_of_key(std::string_view key, bool at_root);
/// The key of a node's name, or nothing if dlock makes no such name.
std::optional<std::string> key_of_name(std::string_view name);

/// The number in a node's name in any recipe that dlock knows. Nothing if its owner does not ask for the lock.
std::optional<std::int32_t> number_in(std::string_view name);
/// A child of a key's node that is no contender: of a recipe that dlock does not know, such as a read lock or a
/// semaphore, whose locks it can't respect. Empty if there is none.
std::string foreign_in(const std::vector<std::string>& names);
/// The error text about such a node.
std::string foreign_text(const std::string& path, const std::string& node);
/// The nodes that ask for the lock, in the order of their numbers. The first one holds it.
std::vector<std::string> contenders_in(std::vector<std::string> names);
/// The name of the node that holds the lock; empty if none does.
std::string first_of(const std::vector<std::string>& names);
/// The name right before `mine`; empty if it is the first. Nothing if it is not in the list, which then is from a time
/// before or after it existed, and says nothing about its place.
std::optional<std::string> before(const std::vector<std::string>& names, std::string_view mine);

/// 32 hexadecimal digits that identify one attempt, so that its node is found when the answer to its creation was lost.
std::string attempt_id(const id128& session, std::uint64_t nonce);
/// The part of the name before the number, as in Apache Curator's InterProcessMutex or kazoo's Lock.
std::string node_prefix(node_names recipe, std::string_view attempt);

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
