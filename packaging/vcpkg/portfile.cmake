# SPDX-License-Identifier: BSL-1.0
# An overlay port, which builds the sources that it lies in: vcpkg install dlock --overlay-ports=packaging/vcpkg
# It has no ZooKeeper and no ODB, of which vcpkg has no ports, and not yet the SQL stores.
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS features
  FEATURES
    redis DLOCK_REDIS
    spdlog DLOCK_SPDLOG
    prometheus DLOCK_PROMETHEUS)
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    ${features}
    -DDLOCK_MYSQL=OFF
    -DDLOCK_SQLITE=OFF
    -DDLOCK_ODB=OFF
    -DDLOCK_ZOOKEEPER=OFF
    -DDLOCK_GEN=OFF
    -DDLOCK_BUILD_TESTS=OFF
    -DDLOCK_BUILD_SAMPLES=OFF
    -DDLOCK_BUILD_TOOLS=OFF
    -DDLOCK_BUILD_BENCH=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/dlock)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
