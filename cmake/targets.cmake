# SPDX-License-Identifier: BSL-1.0
# How dlock's own targets are made. Every target calls dlock_target_defaults(); libraries are added by
# dlock_add_library(), tests by dlock_add_test() (tests/), samples by dlock_add_sample(), benchmarks by dlock_add_bench().
include(warnings)
include(sanitizers)

function(dlock_target_defaults target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  # Whoever builds all that he has with CMAKE_UNITY_BUILD: our sources are not written for it.
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF UNITY_BUILD OFF)
  dlock_set_warnings(${target})
  dlock_set_sanitizers(${target})
endfunction()

# dlock_add_pch(<target> HEADERS <header>... [LIBS <target>...] [INCLUDES <folder>...]): headers that are compiled once, for
# targets that say REUSE_FROM <target>. A build without them (preset release) shows where a source does not include what
# it needs.
function(dlock_add_pch target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "HEADERS;LIBS;INCLUDES")
  if(NOT DLOCK_PCH)
    return()
  endif()
  add_library(${target} OBJECT ${PROJECT_SOURCE_DIR}/src/base/pch.cpp)
  target_link_libraries(${target} PRIVATE fmt::fmt Threads::Threads ${arg_LIBS})
  target_include_directories(${target} PRIVATE ${arg_INCLUDES})
  target_precompile_headers(${target} PRIVATE ${arg_HEADERS})
  if(arg_LIBS)
    # Without ccache, for which a header of ours with another comment is the same header: g++ compares the bytes, takes the
    # header for one that the precompiled one lacks, and reads it twice.
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER "")
  endif()
  dlock_target_defaults(${target})
endfunction()

# dlock_use_pch(<target> <target of dlock_add_pch>)
function(dlock_use_pch target pch)
  if(DLOCK_PCH)
    target_precompile_headers(${target} REUSE_FROM ${pch})
  endif()
endfunction()

# dlock_use_unity(<target>): where DLOCK_UNITY says so, its sources are compiled several at a time, what they have in common once.
function(dlock_use_unity target)
  get_target_property(sources ${target} SOURCES)
  list(LENGTH sources count)
  if(DLOCK_UNITY AND count GREATER 2)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
    # Neither warning knows that these are several files: g++ takes a type of a source for one of a header, and clang a parameter for
    # one that hides a name of another source. Presets ci and release compile each source alone.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>
      $<$<CXX_COMPILER_ID:Clang>:-Wno-shadow>)
  endif()
endfunction()

# dlock_use_unity_by_folder(<target>): the same, but only sources of one folder are compiled together: scripts/check_layers.sh compares
# what the objects of one folder need of another's.
function(dlock_use_unity_by_folder target)
  dlock_use_unity(${target})
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    cmake_path(GET source PARENT_PATH folder)
    string(REPLACE "/" "." group "${folder}")
    set(others ${sources})
    list(FILTER others INCLUDE REGEX "^${folder}/[^/]*$")
    list(LENGTH others count)
    if(count GREATER 1)
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP "${group}")
    else()
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
endfunction()

# dlock_hide_symbols(<target>): other libraries and programs see only what carries DLOCK_EXPORT (dlock/export.hpp). Static libraries
# do the same, because the compiler inlines and calls hidden functions more cheaply: a lock and its release take 3 % less time.
function(dlock_hide_symbols target)
  if(NOT DLOCK_EXPORT_INTERNALS)
    set_target_properties(${target} PROPERTIES C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  endif()
endfunction()

# dlock_add_library(<name> [STATIC] [HEADERS <below include/>...] SOURCES <file>... [GENERATED_HEADERS <below the build's include/>...])
# Makes dlock_<name>, alias dlock::<name>, with the headers as its public file set. BUILD_SHARED_LIBS decides whether it is shared,
# unless it is STATIC: a part that shared libraries contain.
function(dlock_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "STATIC" "" "HEADERS;GENERATED_HEADERS;SOURCES")
  set(kind)
  if(arg_STATIC)
    set(kind STATIC)
  endif()
  set(target dlock_${name})
  list(TRANSFORM arg_HEADERS PREPEND "${PROJECT_SOURCE_DIR}/include/")
  list(TRANSFORM arg_GENERATED_HEADERS PREPEND "${PROJECT_BINARY_DIR}/include/")
  add_library(${target} ${kind})
  add_library(dlock::${name} ALIAS ${target})
  target_sources(${target} PRIVATE ${arg_SOURCES})
  if(arg_HEADERS OR arg_GENERATED_HEADERS)
    target_sources(${target} PUBLIC FILE_SET HEADERS
      BASE_DIRS ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include
      FILES ${arg_HEADERS} ${arg_GENERATED_HEADERS})
  endif()
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_features(${target} PUBLIC cxx_std_20)
  # DEFINE_SYMBOL: without the macro that CMake defines for a shared library, both kinds compile alike, also for a compiler cache.
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON DEFINE_SYMBOL ""
    VERSION ${PROJECT_VERSION} SOVERSION ${DLOCK_SOVERSION} INSTALL_RPATH "$ORIGIN")
  dlock_hide_symbols(${target})
  get_target_property(type ${target} TYPE)
  if(type STREQUAL SHARED_LIBRARY)
    # A missing symbol, or one that its library hides, is an error here and not where a user links.
    target_link_options(${target} PRIVATE -Wl,--no-undefined)
  endif()
  if(DLOCK_BUILD_TESTS)
    # The target all_verify_interface_header_sets, of ./dev nightly, compiles each public header alone.
    set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  endif()
  dlock_target_defaults(${target})
  dlock_use_pch(${target} dlock_pch)
  # Core's sources stay apart where dlock is developed: they are changed most, and its folders have no cycles between objects.
  if(NOT name STREQUAL core OR NOT DLOCK_BUILD_TESTS)
    dlock_use_unity_by_folder(${target})
  endif()
endfunction()

# dlock_find_beside(<program>): an installed program finds the installed shared libraries, wherever the folder was moved.
function(dlock_find_beside target)
  if(BUILD_SHARED_LIBS AND NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    file(RELATIVE_PATH libdir "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")
    set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN/${libdir}")
  endif()
endfunction()

# dlock_register_store(<name>): a program that links dlock::<name> knows its URL schemes. The program's sources name nothing of that
# library, so the link line itself asks for the function that registers the schemes; of a shared library, which registers them when
# it is loaded, it asks for the library: Debian's and Ubuntu's g++ leaves out libraries that nothing names (--as-needed). The
# function's name is for mold, which obeys the first mention of a library and not the second.
function(dlock_register_store name)
  get_target_property(type dlock_${name} TYPE)
  if(type STREQUAL SHARED_LIBRARY)
    target_link_libraries(dlock_${name} INTERFACE -Wl,-u,dlock_register_${name}
      -Wl,--push-state,--no-as-needed,$<TARGET_FILE:dlock::${name}>,--pop-state)
  else()
    target_link_libraries(dlock_${name} INTERFACE -Wl,-u,dlock_register_${name})
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
