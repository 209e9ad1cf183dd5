# SPDX-License-Identifier: BSL-1.0
# What is run on ZooKeeper: with each of the recipes for its nodes.
set(zookeeper LIBS dlock_zookeeper_server dlock_store_actor LABELS zookeeper)
dlock_add_backend(zookeeper FIXTURE zookeeper_server_fixture zookeeper/fixture.hpp
  ${zookeeper} SUITES store list fence any_key session service)
dlock_add_backend(zookeeper_readwrite FIXTURE zookeeper_server_fixture zookeeper/fixture.hpp "names=curator-readwrite"
  ${zookeeper} SUITES store list fence session service readers)
dlock_add_backend(zookeeper_kazoo FIXTURE zookeeper_server_fixture zookeeper/fixture.hpp "names=kazoo"
  ${zookeeper} SUITES fence service readers)
dlock_add_backend(zookeeper_semaphore FIXTURE zookeeper_server_fixture zookeeper/fixture.hpp "names=curator-semaphore"
  ${zookeeper} SUITES permits)
