# SPDX-License-Identifier: BSL-1.0
# What is run on ZooKeeper.
dlock_add_backend(zookeeper FIXTURE zookeeper_server_fixture zookeeper/fixture.hpp
  LIBS dlock_zookeeper_server dlock_store_actor SUITES store list fence any_key session service LABELS zookeeper)
