# SPDX-License-Identifier: GPL-2.0-or-later
# How dlock's own targets are made. Every target calls dlock_target_defaults(); libraries are added by
# dlock_add_library(), tests by dlock_add_test() (tests/), samples by dlock_add_sample(), benchmarks by dlock_add_bench().
include(warnings)
include(sanitizers)

function(dlock_target_defaults target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  dlock_set_warnings(${target})
  dlock_set_sanitizers(${target})
endfunction()

# dlock_add_library(<name> [HEADERS <below include/>...] SOURCES <file>... [GENERATED_HEADERS <below the build's include/>...])
# Makes dlock_<name>, alias dlock::<name>, with the headers as its public file set.
function(dlock_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "HEADERS;GENERATED_HEADERS;SOURCES")
  set(target dlock_${name})
  list(TRANSFORM arg_HEADERS PREPEND "${PROJECT_SOURCE_DIR}/include/")
  list(TRANSFORM arg_GENERATED_HEADERS PREPEND "${PROJECT_BINARY_DIR}/include/")
  add_library(${target} STATIC)
  add_library(dlock::${name} ALIAS ${target})
  target_sources(${target} PRIVATE ${arg_SOURCES})
  if(arg_HEADERS OR arg_GENERATED_HEADERS)
    target_sources(${target} PUBLIC FILE_SET HEADERS
      BASE_DIRS ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include
      FILES ${arg_HEADERS} ${arg_GENERATED_HEADERS})
  endif()
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  if(DLOCK_BUILD_TESTS)
    # The target all_verify_interface_header_sets compiles each public header alone.
    set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  endif()
  dlock_target_defaults(${target})
  if(DLOCK_PCH)
    target_precompile_headers(${target} REUSE_FROM dlock_pch)
  endif()
endfunction()

# dlock_add_header_library(<name> HEADERS <below include/>...): the same of one that has no source.
function(dlock_add_header_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "HEADERS")
  set(target dlock_${name})
  list(TRANSFORM arg_HEADERS PREPEND "${PROJECT_SOURCE_DIR}/include/")
  add_library(${target} INTERFACE)
  add_library(dlock::${name} ALIAS ${target})
  target_sources(${target} INTERFACE FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${arg_HEADERS})
  target_compile_features(${target} INTERFACE cxx_std_20)
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  if(DLOCK_BUILD_TESTS)
    set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  endif()
endfunction()
