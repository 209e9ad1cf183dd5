# SPDX-License-Identifier: BSL-1.0
# What the components of dlock are built on. Its build reads this, and its installed package.
include("${CMAKE_CURRENT_LIST_DIR}/stores.cmake")

# dlock_find_needs(<component> <variable>): finds what it needs; the variable becomes what is missing, empty if nothing is.
function(dlock_find_needs component variable)
  # One package of CMake's in each line, then what to install. Those of a store are in the table.
  set(odb "ODB 2.4 MODULE COMPONENTS compiler|ODB's compiler (Debian: odb libodb-dev)")
  set(odb_mysql "ODB 2.4 MODULE COMPONENTS mysql|ODB's runtime for MySQL (Debian: libodb-mysql-dev libmariadb-dev-compat)")
  set(odb_sqlite "ODB 2.4 MODULE COMPONENTS sqlite|ODB's runtime for SQLite (Debian: libodb-sqlite-dev)")
  set(spdlog "spdlog 1.10|spdlog (Debian: libspdlog-dev)")
  set(gen "LibClang MODULE|libclang (Debian: libclang-dev)" "CLI11 2.1|CLI11 (Debian: libcli11-dev)"
    "nlohmann_json 3.9|nlohmann's JSON (Debian: nlohmann-json3-dev)")
  set(prometheus "prometheus-cpp|prometheus-cpp (Debian: prometheus-cpp-dev)")

  if(component IN_LIST dlock_stores)
    dlock_store_list(${component} ${component} NEEDS)
  endif()

  set(${variable} "" PARENT_SCOPE)
  foreach(need IN LISTS ${component})
    string(REGEX MATCH "^(([^ ]+)[^|]*)[|](.*)$" need "${need}")
    set(package "${CMAKE_MATCH_2}")
    set(text "${CMAKE_MATCH_3}")
    separate_arguments(arguments UNIX_COMMAND "${CMAKE_MATCH_1}")
    find_package(${arguments} QUIET)
    if(NOT ${package}_FOUND)
      set(${variable} "${text}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()
