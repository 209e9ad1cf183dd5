// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stores/zookeeper/client/connection.hpp"
#include "stores/zookeeper/recipe/session.hpp"

namespace dlock::stores::zookeeper {

/// The session and connection of a statement.
struct execution {
  zookeeper_connection& on;
  zookeeper_handle& handle;
  zookeeper_session* session;  ///< null if the requests name none of ours
};

/// The holder of a key.
struct node_holder {
  int code = ZOK;  ///< any other code if the holder is unknown
  bool held = false;
  std::string foreign{};  ///< a node that is no contender, so that the key can't be locked; empty if there is none
  std::string node{};     ///< the node's name; if our user may not read it, this and the following fields are empty
  std::string data{};
  std::uint64_t fence = 0;
  std::vector<std::string> names{};  ///< of the key's children, if our user may list them
};

/// The paths and contents of the nodes of keys and of those above. It depends only on the settings.
class lock_nodes {
 public:
  explicit lock_nodes(const zookeeper_settings& settings) : base_(settings.base), names_(settings.names) {}

  std::string path_of(std::string_view key) const { return base_ + "/" + name_of_key(key, base_.empty()); }
  std::string session_path(const id128& id) const { return sessions_path() + "/" + id.hex(); }
  /// The prefix of the name of an attempt's node.
  std::string prefix_of(const id128& session, std::uint64_t nonce) const {
    return node_prefix(names_, attempt_id(session, nonce));
  }

  /// Makes the node of a key, or one above all keys. Returns yes if it exists.
  reply make_parent(zookeeper_connection& on, zookeeper_handle& handle, const std::string& path) const;
  reply make_base(zookeeper_connection& on, zookeeper_handle& handle) const;
  /// The holder of each key. An unknown holder does not affect the other keys.
  std::vector<node_holder> find_holders(const execution& with, const std::vector<std::string>& keys) const;
  /// The data of the nodes behind the holder's, in their order. `count` is the number of these. Reads at most `limit`,
  /// and leaves out those that are deleted meanwhile.
  reply find_waiters(const execution& with, std::string_view key, std::size_t limit, std::uint64_t& count,
                     std::vector<std::string>& data) const;
  /// Keys that have a node and are greater than `after`, in their order.
  reply keys_after(const execution& with, std::string_view after, std::vector<std::string>& keys) const;

 private:
  std::string sessions_path() const { return (base_.empty() ? "/dlock" : base_) + ".sessions"; }

  const std::string base_;
  const node_names names_;
};

using requests = std::span<const request>;
using replies = std::span<reply>;

/// Executes requests of one verb and one session; only a poll needs no session.
void execute_verb(const lock_nodes& nodes, const execution& with, requests asked, replies results);

}  // namespace dlock::stores::zookeeper
