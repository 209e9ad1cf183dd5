# SPDX-License-Identifier: BSL-1.0
set(zookeeper_headers dlock/stores/zookeeper.hpp)
set(zookeeper_sources
  stores/zookeeper/client/connection.cpp
  stores/zookeeper/client/handle.cpp
  stores/zookeeper/recipe/admin.cpp
  stores/zookeeper/recipe/names.cpp
  stores/zookeeper/recipe/nodes.cpp
  stores/zookeeper/recipe/queue_node.cpp
  stores/zookeeper/recipe/session.cpp
  stores/zookeeper/recipe/store.cpp
  stores/zookeeper/recipe/verbs.cpp
)
