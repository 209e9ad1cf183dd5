# SPDX-License-Identifier: BSL-1.0
# Everything that dlock is built from. With DLOCK_FETCH_DEPS, what is not installed is downloaded at a pinned version.
include(FetchContent)

# In a project that has dlock as a folder, dlock_odb_generate() and the link lines name these targets outside of this folder.
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)

set(dlock_fetched "")
macro(dlock_find_or_fetch name version repository tag)
  if(DLOCK_FETCH_DEPS)
    find_package(${name} ${version} QUIET)
  else()
    find_package(${name} ${version} REQUIRED)
  endif()
  if(NOT ${name}_FOUND)
    FetchContent_Declare(${name} GIT_REPOSITORY https://github.com/${repository}.git GIT_TAG ${tag} SYSTEM)
    FetchContent_MakeAvailable(${name})
    list(APPEND dlock_fetched ${name})
  endif()
endmacro()

find_package(Threads REQUIRED)
# Boost is used for its header-only PFR (from 1.75 on): no component and no library is asked for.
find_package(Boost 1.75 REQUIRED)
dlock_find_or_fetch(fmt 9.1 fmtlib/fmt 9.1.0)
if(DLOCK_FETCH_DEPS)
  set(SPDLOG_FMT_EXTERNAL ON CACHE INTERNAL "")  # one fmt in the program
endif()

# Sets DLOCK_<PART>, which may be AUTO, to ON or OFF.
include(needs)
foreach(part MYSQL SQLITE REDIS ZOOKEEPER SPDLOG PROMETHEUS GEN)
  if(NOT DLOCK_${part})
    continue()
  endif()
  string(TOLOWER ${part} component)
  dlock_find_needs(${component} missing)
  if(NOT missing AND part MATCHES "MYSQL|SQLITE")
    dlock_find_needs(odb missing)
  elseif(missing AND part STREQUAL "SPDLOG" AND DLOCK_FETCH_DEPS)
    dlock_find_or_fetch(spdlog 1.10 gabime/spdlog v1.10.0)
    set(missing "")
  endif()
  if(NOT missing)
    set(DLOCK_${part} ON)
  elseif(DLOCK_${part} STREQUAL "AUTO")
    set(DLOCK_${part} OFF)
    message(STATUS "dlock: built without ${component}: there is no ${missing}")
  else()
    message(FATAL_ERROR "dlock: DLOCK_${part}=${DLOCK_${part}}, but there is no ${missing}. AUTO or OFF builds without ${component}.")
  endif()
endforeach()

if(DLOCK_BUILD_TESTS)
  dlock_find_or_fetch(Catch2 3.4 catchorg/Catch2 v3.7.1)
  list(APPEND CMAKE_MODULE_PATH ${Catch2_DIR})
  if("Catch2" IN_LIST dlock_fetched)
    list(APPEND CMAKE_MODULE_PATH ${Catch2_SOURCE_DIR}/extras)
  endif()
endif()
if(DLOCK_BUILD_TESTS OR DLOCK_BUILD_SAMPLES OR DLOCK_BUILD_BENCH OR DLOCK_BUILD_TOOLS)
  dlock_find_or_fetch(CLI11 2.1 CLIUtils/CLI11 v2.1.2)
endif()

if(DLOCK_BUILD_TOOLS OR DLOCK_BUILD_BENCH)
  dlock_find_or_fetch(nlohmann_json 3.11 nlohmann/json v3.11.2)
endif()

# One header, libfccp/csv.h, by which a sample reads CSV files. Its home has no CMake.
if(DLOCK_BUILD_SAMPLES AND DLOCK_SQLITE)
  find_path(FCCP_INCLUDE_DIR libfccp/csv.h)
  mark_as_advanced(FCCP_INCLUDE_DIR)
  if(NOT FCCP_INCLUDE_DIR AND DLOCK_FETCH_DEPS)
    FetchContent_Declare(fccp GIT_REPOSITORY https://github.com/ben-strasser/fast-cpp-csv-parser.git
      GIT_TAG 574a9fe4d323ba63416877a4a5fe59088d37aa34 SOURCE_DIR "${CMAKE_BINARY_DIR}/_deps/fccp/libfccp")
    FetchContent_MakeAvailable(fccp)
    set(FCCP_INCLUDE_DIR "${CMAKE_BINARY_DIR}/_deps/fccp")
  elseif(NOT FCCP_INCLUDE_DIR)
    message(FATAL_ERROR "libfccp/csv.h, the header of fast-cpp-csv-parser, is missing: package libfccp-dev, "
      "-D DLOCK_FETCH_DEPS=ON, or -D DLOCK_BUILD_SAMPLES=OFF")
  endif()
  add_library(FCCP::FCCP INTERFACE IMPORTED)
  target_include_directories(FCCP::FCCP SYSTEM INTERFACE "${FCCP_INCLUDE_DIR}")
  # g++ warns, when it optimises, of a copy in that header that is cut off on purpose; being a system header doesn't help.
  target_compile_options(FCCP::FCCP INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-truncation>)
endif()

if(DLOCK_INSTALL AND dlock_fetched MATCHES "fmt|spdlog")
  message(STATUS "dlock: no install rules, because fmt or spdlog was downloaded and would not be there for its users")
  set(DLOCK_INSTALL OFF)
endif()

# A compiler cache, when there is one and nobody chose a launcher. The sloppiness lets it work with precompiled headers;
# without the folder in the hash, two build folders share what they compiled.
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(CCACHE_PROGRAM ccache)
  mark_as_advanced(CCACHE_PROGRAM)
  if(CCACHE_PROGRAM)
    set(dlock_ccache_environment CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env ${dlock_ccache_environment} ${CCACHE_PROGRAM})
  endif()
endif()
# g++ collects garbage from 128 MB on, which costs a large file a tenth of its time. With this it takes a fifth more memory.
if(PROJECT_IS_TOP_LEVEL AND DLOCK_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  add_compile_options(--param=ggc-min-heapsize=1500000)
endif()
# There are a hundred programs to link.
if(PROJECT_IS_TOP_LEVEL AND DLOCK_BUILD_TESTS)
  find_program(MOLD_PROGRAM mold)
  mark_as_advanced(MOLD_PROGRAM)
  if(MOLD_PROGRAM)
    add_link_options(-fuse-ld=mold)
  endif()
endif()
