# SPDX-License-Identifier: BSL-1.0
# Finds the multi-threaded C client of ZooKeeper, which brings no CMake or pkg-config files, and defines ZooKeeper::client.
# Set ZooKeeper_INCLUDE_DIR and ZooKeeper_LIBRARY to choose one of several.
find_path(ZooKeeper_INCLUDE_DIR zookeeper/zookeeper.h)
find_library(ZooKeeper_LIBRARY NAMES zookeeper_mt)
mark_as_advanced(ZooKeeper_INCLUDE_DIR ZooKeeper_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ZooKeeper REQUIRED_VARS ZooKeeper_LIBRARY ZooKeeper_INCLUDE_DIR)

if(ZooKeeper_FOUND AND NOT TARGET ZooKeeper::client)
  add_library(ZooKeeper::client UNKNOWN IMPORTED)
  set_target_properties(ZooKeeper::client PROPERTIES
    IMPORTED_LOCATION "${ZooKeeper_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${ZooKeeper_INCLUDE_DIR}")
endif()
