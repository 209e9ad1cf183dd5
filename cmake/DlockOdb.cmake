# SPDX-License-Identifier: GPL-2.0-or-later
# Runs ODB's compiler on headers with mapped classes. The headers must be C++14, all that its parser takes.
#
# dlock_odb_generate(<prefix> HEADERS <file>... DATABASES [mysql] [sqlite] [OUTPUT_DIR <dir>] [OPTIONS <option>...])
#
# For each x.hpp the build makes x-odb.hxx and, for each database, x-odb-<database>.hxx in OUTPUT_DIR (default: "generated"
# in the current build folder). Sets in the caller's scope
#   <prefix>_COMMON_SOURCES, <prefix>_MYSQL_SOURCES, <prefix>_SQLITE_SOURCES   what to compile
#   <prefix>_INCLUDE_DIR                                                       what to add to the include path
# and dlock_odb_library(<target> <sources>...) makes a library of such sources, with warnings off.
function(dlock_odb_generate prefix)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "OUTPUT_DIR" "HEADERS;DATABASES;OPTIONS")
  if(NOT arg_OUTPUT_DIR)
    set(arg_OUTPUT_DIR "${CMAKE_CURRENT_BINARY_DIR}/generated")
  endif()
  file(MAKE_DIRECTORY "${arg_OUTPUT_DIR}")

  # The shim goes first in whatever is generated, so nobody has to remember it.
  set(shim "#include <dlock/detail/odb_compat.hpp>")
  set(command ODB::compiler --multi-database dynamic --database common)
  foreach(database IN LISTS arg_DATABASES)
    list(APPEND command --database ${database}
         --schema-format ${database}:embedded --schema-format ${database}:sql)
  endforeach()
  list(APPEND command --std c++14 --generate-query --generate-schema
       --hxx-prologue "${shim}" --cxx-prologue "${shim}" --output-dir "${arg_OUTPUT_DIR}"
       -I "${PROJECT_SOURCE_DIR}/include" -I "${PROJECT_BINARY_DIR}/include" ${arg_OPTIONS})

  set(headers ${arg_HEADERS})
  list(TRANSFORM headers PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/" REGEX "^[^/]")
  foreach(header IN LISTS headers)
    get_filename_component(name "${header}" NAME_WE)
    get_filename_component(folder "${header}" DIRECTORY)
    set(common "${arg_OUTPUT_DIR}/${name}-odb.cxx")
    set(outputs "${common}" "${arg_OUTPUT_DIR}/${name}-odb.hxx" "${arg_OUTPUT_DIR}/${name}-odb.ixx")
    list(APPEND common_sources "${common}")
    foreach(database IN LISTS arg_DATABASES)
      set(source "${arg_OUTPUT_DIR}/${name}-odb-${database}.cxx")
      list(APPEND outputs "${source}" "${arg_OUTPUT_DIR}/${name}-odb-${database}.hxx"
           "${arg_OUTPUT_DIR}/${name}-odb-${database}.ixx")
      list(APPEND ${database}_sources "${source}")
    endforeach()
    # Mapped classes may include each other, so each is generated anew when any of them changes.
    add_custom_command(OUTPUT ${outputs} COMMAND ${command} -I "${folder}" "${header}" DEPENDS ${headers}
      COMMENT "Mapping ${name}" VERBATIM)
  endforeach()
  set(${prefix}_COMMON_SOURCES ${common_sources} PARENT_SCOPE)
  set(${prefix}_MYSQL_SOURCES ${mysql_sources} PARENT_SCOPE)
  set(${prefix}_SQLITE_SOURCES ${sqlite_sources} PARENT_SCOPE)
  set(${prefix}_INCLUDE_DIR "${arg_OUTPUT_DIR}" PARENT_SCOPE)
endfunction()

function(dlock_odb_library target)
  add_library(${target} STATIC ${ARGN})
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE -w)
  dlock_set_sanitizers(${target})
endfunction()
