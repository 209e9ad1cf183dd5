# SPDX-License-Identifier: BSL-1.0
# What cpack makes: Debian packages, by `./dev package` (scripts/package.sh).
#   libdlock                     the shared library of dlock::core, with the memory store
#   libdlock-<store>, ...        one package for each other shared library: a program that uses one store needs the client's library
#                                of that store alone, and the licence that comes with it; libdlock-odb-<store> brings ODB's runtime
#   libdlock-dev                 headers, files for CMake and pkg-config. It depends on libdlock only; you choose the stores
#   dlock-tools                  the command dlock, its manual page and completions, the SQL files, alerts and dashboard
#   dlock-gen                    the generator with its manual page and completions, which needs libclang and the headers of that
#                                release of clang
#   dlock-doc                    the pages
# The names have no number, so two minor versions can't be installed side by side.
# The maintainers as the commits name them; nobody reads mail at that address. Set CPACK_PACKAGE_CONTACT to your own for packages
# that you distribute. There is no field Homepage, because the project has no public address yet: set CPACK_DEBIAN_PACKAGE_HOMEPAGE
# when it has one.
if(NOT CPACK_PACKAGE_CONTACT)
  set(CPACK_PACKAGE_CONTACT "dlock maintainers <maintainers@users.noreply.a-seed-a89ba92a.example>")
endif()
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/packaging/debian/compress_pages.cmake")
# Each package has a synopsis of its own, the first line of its description.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME dlock)
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGING_INSTALL_PREFIX "${CMAKE_INSTALL_PREFIX}")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Where dpkg-shlibdeps finds dlock's own libraries. It doesn't know yet which packages will hold them: dlock_package() says that.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}/src")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# The libraries of distributions differ, so does the version.
cmake_host_system_information(RESULT distribution QUERY DISTRIB_ID)
cmake_host_system_information(RESULT release QUERY DISTRIB_VERSION_ID)
set(CPACK_DEBIAN_PACKAGE_RELEASE "1~${distribution}${release}")
set(dlock_package_version "${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}")

set(CPACK_COMPONENTS_ALL "")
# dlock_package(<component> <package> <text> [NEEDS <package of dlock>...] [DEPENDS <text>] [SUGGESTS <text>] [SECTION <name>] [LIBRARY])
function(dlock_package component package text)
  cmake_parse_arguments(PARSE_ARGV 3 arg "LIBRARY" "DEPENDS;SUGGESTS;SECTION" "NEEDS")
  string(TOUPPER ${component} upper)
  if(NOT arg_SECTION)
    set(arg_SECTION libs)
  endif()
  list(TRANSFORM arg_NEEDS APPEND " (= ${dlock_package_version})")
  list(JOIN arg_NEEDS ", " depends)
  if(depends AND arg_DEPENDS)
    string(APPEND depends ", ")
  endif()
  set(prefix CPACK_DEBIAN_${upper})
  set(${prefix}_PACKAGE_NAME ${package} PARENT_SCOPE)
  set(${prefix}_PACKAGE_DEPENDS "${depends}${arg_DEPENDS}" PARENT_SCOPE)
  set(${prefix}_PACKAGE_SUGGESTS "${arg_SUGGESTS}" PARENT_SCOPE)
  set(${prefix}_PACKAGE_SECTION "${arg_SECTION}" PARENT_SCOPE)
  set(CPACK_COMPONENT_${upper}_DESCRIPTION
    "${text}\n dlock gives processes and threads locks by name, which live in a database or in the rows that they protect." PARENT_SCOPE)
  if(arg_LIBRARY)
    set(${prefix}_PACKAGE_CONTROL_EXTRA "${PROJECT_SOURCE_DIR}/packaging/debian/triggers" PARENT_SCOPE)
  endif()
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  set(CPACK_COMPONENTS_ALL "${CPACK_COMPONENTS_ALL}" PARENT_SCOPE)
  install(FILES "${PROJECT_SOURCE_DIR}/packaging/debian/copyright" DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${package}"
    COMPONENT ${component} EXCLUDE_FROM_ALL)
endfunction()

if(BUILD_SHARED_LIBS)
  dlock_package(core libdlock "distributed locks, without a database" LIBRARY)
endif()
# dlock_library_package(<list> <component> <text> [<package of dlock>...]): libdlock-<component>, if that is built, and its name in the
# list. A macro, because dlock_package() sets variables of its caller.
macro(dlock_library_package list component text)
  if(TARGET dlock_${component} AND BUILD_SHARED_LIBS)
    string(REPLACE "_" "-" dlock_package_name "libdlock-${component}")
    list(APPEND ${list} ${dlock_package_name})
    dlock_package(${component} ${dlock_package_name} "${text}" NEEDS libdlock ${ARGN} LIBRARY)
  endif()
endmacro()
set(stores "")
foreach(store IN LISTS dlock_stores)
  dlock_library_package(stores ${store} "distributed locks in ${dlock_store_${store}_TITLE}")
endforeach()
set(others "")
dlock_library_package(others odb "distributed locks in rows, by ODB")
dlock_library_package(others odb_sqlite "distributed locks in rows, by ODB, in SQLite" libdlock-odb libdlock-sqlite)
dlock_library_package(others odb_mysql "distributed locks in rows, by ODB, in MySQL and MariaDB" libdlock-odb libdlock-mysql)
dlock_library_package(others spdlog "distributed locks, events logged by spdlog")
dlock_library_package(others prometheus "distributed locks, metrics for prometheus-cpp")
set(core "")
if(BUILD_SHARED_LIBS)
  set(core libdlock)
endif()
list(JOIN stores ", " suggests)
list(JOIN others ", " more)
# Debian 12 has Boost.PFR in libboost1.81-dev alone.
dlock_package(dev libdlock-dev "distributed locks, files for development" NEEDS ${core} SECTION libdevel
  DEPENDS "libboost-dev (>= 1.75) | libboost1.81-dev, libfmt-dev" SUGGESTS "${suggests}, ${more}, dlock-gen")
if(TARGET dlock_tool)
  dlock_package(tools dlock-tools "distributed locks for scripts and operators" NEEDS ${core} ${stores} SECTION utils)
endif()
if(TARGET dlock_gen)
  # libclang reads <stddef.h> and the like from the headers of its own release, which its package does not even recommend.
  set(headers "")
  if(LibClang_INCLUDE_DIR MATCHES "llvm-([0-9]+)/")
    set(headers "libclang-common-${CMAKE_MATCH_1}-dev")
  endif()
  dlock_package(gen dlock-gen "distributed locks, generator of code from annotations" SECTION devel DEPENDS "${headers}")
endif()
dlock_package(doc dlock-doc "distributed locks, documentation" SECTION doc)
include(CPack)
