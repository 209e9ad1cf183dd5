// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "dlock/store_interface/store_url.hpp"
#include "stores/name_lookup.hpp"

namespace dlock::stores::zookeeper {

/// Which of the two wide-spread recipes takes our nodes for its own. Ours respects the nodes of both.
enum class node_names { curator, kazoo };

/// The parameters of a zookeeper:// URL, checked. dlock/stores/zookeeper.hpp documents them.
struct zookeeper_settings {
  std::string name{};                  ///< the URL without its password
  std::vector<std::string> servers{};  ///< "host:port"
  std::string digest{};                ///< "user:password"; empty: none
  std::string base{};                  ///< path of the node below which each key has one; empty: the root
  node_names names = node_names::curator;
  std::chrono::milliseconds connect_timeout{5'000};
  std::chrono::milliseconds statement_timeout{5'000};
  std::shared_ptr<name_lookup> names_of_hosts = std::make_shared<name_lookup>();

  /// Throws std::invalid_argument naming the parameter and its value.
  static zookeeper_settings parse(store_url url);
};

}  // namespace dlock::stores::zookeeper
