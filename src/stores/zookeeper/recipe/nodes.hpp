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

/// What is executed, and on what.
struct execution {
  zookeeper_connection& on;
  zookeeper_handle& handle;
  zookeeper_session* session;  ///< null: none of ours is named
};

/// The holder of a key.
struct node_holder {
  int code = ZOK;  ///< another one: it is not known
  bool held = false;
  std::string foreign{};  ///< a node that is no contender, so that the key can't be locked; empty: none
  std::string node{};     ///< its name. Of what our user may not read, neither this nor the others are known
  std::string data{};
  std::uint64_t fence = 0;
  std::vector<std::string> names{};  ///< of the key's nodes, if they may be listed
};

/// The nodes of keys, and above them: where they are, and what they say. Knows settings alone.
class lock_nodes {
 public:
  explicit lock_nodes(const zookeeper_settings& settings) : base_(settings.base), names_(settings.names) {}

  std::string path_of(std::string_view key) const { return base_ + "/" + name_of_key(key, base_.empty()); }
  std::string session_path(const id128& id) const { return sessions_path() + "/" + id.hex(); }
  /// What the name of an attempt's node begins with.
  std::string prefix_of(const id128& session, std::uint64_t nonce) const {
    return node_prefix(names_, attempt_id(session, nonce));
  }

  /// Makes the node of a key, or what stands above all of them. yes: it is there.
  reply make_parent(zookeeper_connection& on, zookeeper_handle& handle, const std::string& path) const;
  reply make_base(zookeeper_connection& on, zookeeper_handle& handle) const;
  /// The holder of each key: one that can't be known spoils none of the others.
  std::vector<node_holder> find_holders(const execution& with, const std::vector<std::string>& keys) const;
  /// The data of the nodes that stand behind the holder's, in their order; `count`: how many these are. At most `limit`
  /// are read, and those that are gone by then are left out.
  reply find_waiters(const execution& with, std::string_view key, std::size_t limit, std::uint64_t& count,
                     std::vector<std::string>& data) const;
  /// Keys that have a node and are greater, in their order.
  reply keys_after(const execution& with, std::string_view after, std::vector<std::string>& keys) const;

 private:
  std::string sessions_path() const { return (base_.empty() ? "/dlock" : base_) + ".sessions"; }

  const std::string base_;
  const node_names names_;
};

using requests = std::span<const request>;
using replies = std::span<reply>;

/// Executes requests of one verb and one session, which only a poll may lack.
void execute_verb(const lock_nodes& nodes, const execution& with, requests asked, replies results);

}  // namespace dlock::stores::zookeeper
