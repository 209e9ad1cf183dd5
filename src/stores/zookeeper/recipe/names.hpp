// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What the nodes of locks are called. Each key has a node, and below it stands one for each that holds the key or
/// waits for it, in the order of the numbers that the server puts behind their names.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlock/store_interface/id128.hpp"
#include "stores/zookeeper/client/handle.hpp"

namespace dlock::stores::zookeeper {

/// A key as the name of a node: bytes that a name can't have are written %XX. Different keys give different names.
std::string name_of_key(std::string_view key, bool at_root);
/// The key again. None: dlock gives no such name.
std::optional<std::string> key_of_name(std::string_view name);

/// The number in a node's name, of whichever recipe that we know; none: its owner does not ask for the lock.
std::optional<std::int32_t> number_in(std::string_view name);
/// A node below a key's that is no contender: of a recipe that dlock does not know, such as a read lock or a semaphore,
/// whose locks it can't respect. Empty: there is none.
std::string foreign_in(const std::vector<std::string>& names);
/// For the error about that.
std::string foreign_text(const std::string& path, const std::string& node);
/// Those that ask for the lock, in the order of their numbers: the first one holds it.
std::vector<std::string> contenders_in(std::vector<std::string> names);
/// The name of the node that holds the lock; empty: none does.
std::string first_of(const std::vector<std::string>& names);
/// The name that stands right before that one; empty: it is the first. None: it is not among them, so the list is of a
/// time before it was made, or after, and says nothing about its place.
std::optional<std::string> before(const std::vector<std::string>& names, std::string_view mine);

/// 32 hexadecimal digits, which name one attempt and no other: by them it is found when the answer to its creation was
/// lost.
std::string attempt_id(const id128& session, std::uint64_t nonce);
/// What stands before the number, as Apache Curator's InterProcessMutex or kazoo's Lock calls it.
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
  /// None: the node is another program's.
  static std::optional<node_data> parse(std::string_view text);
};

}  // namespace dlock::stores::zookeeper
