// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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

/// A node of a key. Data and fence are empty if our user may not read them.
struct shown_node {
  std::string name{};  ///< empty if our user may not list the key's nodes
  std::string data{};
  std::uint64_t fence = 0;
};

/// Some nodes of a key, such as its holders.
struct shown_nodes {
  int code = ZOK;         ///< any other code if they are unknown
  std::string foreign{};  ///< a node that is no contender, so that the key can't be locked; empty if there is none
  std::vector<shown_node> nodes{};
  std::size_t contenders = 0;  ///< all that ask for the key
};

/// Chooses nodes of the key with that index.
using choose_nodes = std::function<std::vector<std::string>(std::size_t key, const lock_queue& all)>;

/// The paths and contents of the nodes of keys and of those above. It depends only on the settings.
class lock_nodes {
 public:
  explicit lock_nodes(const zookeeper_settings& settings) : base_(settings.base), names_(settings.names) {}

  std::string path_of(std::string_view key) const { return base_ + "/" + name_of_key(key, base_.empty()); }
  /// Whether keys have permits, and a lock for those that wait for one.
  bool counts() const noexcept { return names_ == node_names::curator_semaphore; }
  /// The node whose children are the key's holders.
  std::string folder_of(std::string_view key) const { return path_of(key) + (counts() ? "/leases" : ""); }
  /// The node whose children wait: their first one may make a node in folder_of(). Empty: those wait themselves.
  std::string lock_of(std::string_view key) const { return counts() ? path_of(key) + "/locks" : std::string{}; }
  std::string session_path(const id128& id) const { return sessions_path() + "/" + id.hex(); }
  node_names recipe() const noexcept { return names_; }
  /// The prefix of the name of an attempt's node.
  std::string prefix_of(const request& asked) const {
    return node_prefix(names_, attempt_id(asked.session, asked.nonce), asked.units != 0);
  }

  /// Makes the folder of a key, or a node above all keys. Returns yes if it exists.
  reply make_folder(zookeeper_connection& on, zookeeper_handle& handle, const std::string& path) const;
  reply make_base(zookeeper_connection& on, zookeeper_handle& handle) const;
  /// The chosen nodes of each key. Those that are deleted meanwhile are left out; if all of a key's are, it chooses
  /// again. An unknown result does not affect the other keys.
  std::vector<shown_nodes> find_nodes(const execution& with, const std::vector<std::string>& keys,
                                      const choose_nodes& choose) const;
  /// The data of the nodes behind the holders', in their order. `count` is the number of these. Reads at most `limit`,
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
