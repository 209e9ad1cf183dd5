# SPDX-License-Identifier: BSL-1.0
# Finds the ODB runtime and compiler: targets ODB::odb, ODB::mysql, ODB::sqlite and the program ODB::compiler.
# Components: mysql, sqlite, compiler; the common runtime is always wanted.
find_path(ODB_INCLUDE_DIR odb/version.hxx)
find_library(ODB_LIBRARY NAMES odb)
mark_as_advanced(ODB_INCLUDE_DIR ODB_LIBRARY)
if(ODB_INCLUDE_DIR)
  file(STRINGS "${ODB_INCLUDE_DIR}/odb/version.hxx" ODB_VERSION REGEX "define LIBODB_VERSION_STR ")
  string(REGEX REPLACE ".*\"([0-9.]+).*" "\\1" ODB_VERSION "${ODB_VERSION}")
endif()

foreach(component IN LISTS ODB_FIND_COMPONENTS)
  if(component STREQUAL "compiler")
    find_program(ODB_COMPILER odb)
    mark_as_advanced(ODB_COMPILER)
    if(ODB_COMPILER)
      set(ODB_compiler_FOUND TRUE)
    endif()
  else()
    # The runtime of a database is no use without the client that it is built on.
    set(client_of_mysql MySQLClient)
    set(client_of_sqlite SQLite3)
    find_package(${client_of_${component}} QUIET)
    find_library(ODB_${component}_LIBRARY NAMES odb-${component})
    find_path(ODB_${component}_INCLUDE_DIR odb/${component}/database.hxx HINTS ${ODB_INCLUDE_DIR})
    mark_as_advanced(ODB_${component}_LIBRARY ODB_${component}_INCLUDE_DIR)
    if(${client_of_${component}}_FOUND AND ODB_${component}_LIBRARY AND ODB_${component}_INCLUDE_DIR)
      set(ODB_${component}_FOUND TRUE)
    endif()
  endif()
endforeach()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ODB
  REQUIRED_VARS ODB_LIBRARY ODB_INCLUDE_DIR VERSION_VAR ODB_VERSION HANDLE_COMPONENTS)

if(ODB_FOUND)
  include(CMakeFindDependencyMacro)
  if(NOT TARGET ODB::odb)
    find_dependency(Threads)
    add_library(ODB::odb UNKNOWN IMPORTED)
    set_target_properties(ODB::odb PROPERTIES
      IMPORTED_LOCATION "${ODB_LIBRARY}"
      INTERFACE_INCLUDE_DIRECTORIES "${ODB_INCLUDE_DIR}"
      INTERFACE_LINK_LIBRARIES Threads::Threads)
  endif()
  if(ODB_compiler_FOUND AND NOT TARGET ODB::compiler)
    add_executable(ODB::compiler IMPORTED)
    set_target_properties(ODB::compiler PROPERTIES IMPORTED_LOCATION "${ODB_COMPILER}")
  endif()
  if(ODB_mysql_FOUND AND NOT TARGET ODB::mysql)
    add_library(ODB::mysql UNKNOWN IMPORTED)
    set_target_properties(ODB::mysql PROPERTIES
      IMPORTED_LOCATION "${ODB_mysql_LIBRARY}"
      INTERFACE_INCLUDE_DIRECTORIES "${ODB_mysql_INCLUDE_DIR}"
      INTERFACE_LINK_LIBRARIES "ODB::odb;MySQL::client")
  endif()
  if(ODB_sqlite_FOUND AND NOT TARGET ODB::sqlite)
    add_library(ODB::sqlite UNKNOWN IMPORTED)
    set_target_properties(ODB::sqlite PROPERTIES
      IMPORTED_LOCATION "${ODB_sqlite_LIBRARY}"
      INTERFACE_INCLUDE_DIRECTORIES "${ODB_sqlite_INCLUDE_DIR}"
      INTERFACE_LINK_LIBRARIES "ODB::odb;SQLite::SQLite3")
  endif()
endif()
