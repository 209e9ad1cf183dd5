# SPDX-License-Identifier: BSL-1.0
# Runs ODB's compiler on headers with mapped classes. The headers must be C++14, all that its parser takes.
#
# dlock_odb_generate(<target> HEADERS <file>... [DATABASES <mysql|sqlite>...] [OUTPUT_DIR <dir>] [OPTIONS <option>...])
#
# Maps the headers for <target>, which exists: an executable, or a library. For each x.hpp the build makes, in OUTPUT_DIR
# (default: "generated/<target>" in the current build folder),
#   x-odb.hxx                        what the program includes; it includes x-dlock.hxx, the columns of the ids
#   x-<database>.sql                 makes the tables
#   x-lock-columns-<database>.sql    adds the lock columns to tables that exist already
# again whenever the header, or anything that it includes, changes. The sources that ODB generates become sources of the
# target, with warnings off; their folder and those of the headers are added to its include path, and dlock::odb and ODB's
# libraries are linked. What the headers include is found through the include path of the target. DATABASES: those
# whose store, dlock::mysql or dlock::sqlite, the target links when this is called, by itself or through others; if it links neither,
# those of this dlock. OPTIONS go to ODB's compiler as they are.
#
# What is generated registers itself before main(), so none of it may be left out. An archive leaves out what nobody calls:
# let <target> be the program itself, a shared library, or an OBJECT library that each program links directly; a STATIC one
# must be linked whole, $<LINK_LIBRARY:WHOLE_ARCHIVE,entities>, and has the property DLOCK_LINKED_WHOLE.

include("${CMAKE_CURRENT_LIST_DIR}/DlockCodegen.cmake")
cmake_policy(VERSION 3.25)  # of these functions, whatever the project around them has

function(dlock_odb_generate target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "OUTPUT_DIR" "HEADERS;DATABASES;OPTIONS")
  _dlock_check_call(dlock_odb_generate ${target} "${arg_HEADERS}" "${arg_UNPARSED_ARGUMENTS}")
  get_target_property(type ${target} TYPE)
  get_target_property(linked_whole ${target} DLOCK_LINKED_WHOLE)
  if(type STREQUAL "STATIC_LIBRARY" AND NOT linked_whole)
    message(AUTHOR_WARNING "dlock_odb_generate: ${target} is a static library, from which a linker leaves out what ODB generated "
      "(\"unknown database schema\"). Make it an OBJECT library. Or link it as $<LINK_LIBRARY:WHOLE_ARCHIVE,${target}> and set its "
      "property DLOCK_LINKED_WHOLE, which ends this warning.")
  endif()
  if(NOT arg_DATABASES)
    set(all "")
    foreach(database mysql sqlite)
      if(TARGET dlock::odb_${database})
        list(APPEND all ${database})
        set(links FALSE)
        if(TARGET dlock::${database})
          _dlock_links(links ${target} dlock::${database})
        endif()
        if(links)
          list(APPEND arg_DATABASES ${database})
        endif()
      endif()
    endforeach()
    if(NOT arg_DATABASES)
      set(arg_DATABASES ${all})
    endif()
  endif()
  _dlock_output_dir(arg_OUTPUT_DIR ${target})
  _dlock_claim_outputs(dlock_odb_generate ${target} "${arg_OUTPUT_DIR}" -odb.hxx ${arg_HEADERS})
  set(databases "")
  foreach(database IN LISTS arg_DATABASES)
    if(NOT TARGET dlock::odb_${database})
      message(FATAL_ERROR "dlock_odb_generate(${target}): this dlock was built without '${database}'")
    endif()
    list(APPEND databases dlock::odb_${database} ODB::${database})
  endforeach()
  target_link_libraries(${target} PUBLIC dlock::odb ${databases})

  _dlock_include_folders(folders ${target})
  dlock_odb_sources(_dlock TRAITS HEADERS ${arg_HEADERS} DATABASES ${arg_DATABASES} OUTPUT_DIR "${arg_OUTPUT_DIR}"
    INCLUDES "${folders}" OPTIONS ${arg_OPTIONS})
  set(sources ${_dlock_COMMON_SOURCES} ${_dlock_MYSQL_SOURCES} ${_dlock_SQLITE_SOURCES})
  set_source_files_properties(${sources} TARGET_DIRECTORY ${target} PROPERTIES
    COMPILE_OPTIONS -w SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
  _dlock_odb_lock_columns(scripts "${arg_OUTPUT_DIR}" "${arg_DATABASES}" "${arg_HEADERS}")
  target_sources(${target} PRIVATE ${sources} ${scripts})
  _dlock_use_generated(${target} "${arg_OUTPUT_DIR}" ${arg_HEADERS})
endfunction()

# x-lock-columns-<database>.sql, from the CREATE TABLE statements of x-<database>.sql.
function(_dlock_odb_lock_columns result output_dir databases headers)
  set(script "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/lock_columns.cmake")
  set(scripts "")
  foreach(header IN LISTS headers)
    _dlock_header(of "${header}")
    set(name "${of_name}")
    foreach(database IN LISTS databases)
      set(from "${output_dir}/${name}-${database}.sql")
      set(to "${output_dir}/${name}-lock-columns-${database}.sql")
      add_custom_command(OUTPUT "${to}" DEPENDS "${from}" "${script}"
        COMMAND ${CMAKE_COMMAND} -D "FROM=${from}" -D "TO=${to}" -D DATABASE=${database} -P "${script}" VERBATIM)
      list(APPEND scripts "${to}")
    endforeach()
  endforeach()
  set(${result} ${scripts} PARENT_SCOPE)
endfunction()

# dlock_odb_sources(<prefix> HEADERS <file>... DATABASES [mysql] [sqlite] OUTPUT_DIR <dir> [INCLUDES <dir>...]
#                   [OPTIONS <option>...] [TRAITS])
# The rules only, for no target; with TRAITS, also x-dlock.hxx. Sets in the caller's scope
#   <prefix>_COMMON_SOURCES, <prefix>_MYSQL_SOURCES, <prefix>_SQLITE_SOURCES   what to compile
function(dlock_odb_sources prefix)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TRAITS" "OUTPUT_DIR" "HEADERS;DATABASES;INCLUDES;OPTIONS")
  file(MAKE_DIRECTORY "${arg_OUTPUT_DIR}")
  set(folders "$<$<BOOL:${arg_INCLUDES}>:-I$<JOIN:${arg_INCLUDES},;-I>>")

  # The shim goes first in whatever is generated, so nobody has to remember it.
  set(shim "#include <dlock/detail/odb_compat.hpp>")
  set(command ODB::compiler --multi-database dynamic --database common)
  foreach(database IN LISTS arg_DATABASES)
    list(APPEND command --database ${database}
         --schema-format ${database}:embedded --schema-format ${database}:sql)
  endforeach()
  list(APPEND command --std c++14 --generate-query --generate-schema
       --hxx-prologue "${shim}" --cxx-prologue "${shim}" --output-dir "${arg_OUTPUT_DIR}" ${arg_OPTIONS})

  foreach(header IN LISTS arg_HEADERS)
    _dlock_header(of "${header}")
    set(name "${of_name}")
    set(common "${arg_OUTPUT_DIR}/${name}-odb.cxx")
    set(outputs "${common}" "${arg_OUTPUT_DIR}/${name}-odb.hxx" "${arg_OUTPUT_DIR}/${name}-odb.ixx")
    list(APPEND common_sources "${common}")
    foreach(database IN LISTS arg_DATABASES)
      set(source "${arg_OUTPUT_DIR}/${name}-odb-${database}.cxx")
      list(APPEND outputs "${source}" "${arg_OUTPUT_DIR}/${name}-odb-${database}.hxx"
           "${arg_OUTPUT_DIR}/${name}-odb-${database}.ixx" "${arg_OUTPUT_DIR}/${name}-${database}.sql")
      list(APPEND ${database}_sources "${source}")
    endforeach()
    set(epilogue "")
    set(traits "")
    set(script "")
    if(arg_TRAITS)
      set(script "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/entity_traits.cmake")
      list(JOIN arg_DATABASES "," databases)
      set(epilogue --hxx-epilogue "#include \"${name}-dlock.hxx\"")
      set(traits COMMAND ${CMAKE_COMMAND} -D "FOLDER=${arg_OUTPUT_DIR}" -D "NAME=${name}" -D "DATABASES=${databases}" -P "${script}")
      list(APPEND outputs "${arg_OUTPUT_DIR}/${name}-dlock.hxx")
    endif()
    # ODB's compiler does not tell what a header includes; the C++ compiler does.
    set(depfile "${arg_OUTPUT_DIR}/${name}-odb.d")
    add_custom_command(OUTPUT ${outputs}
      COMMAND ${CMAKE_CXX_COMPILER} -x c++ -std=c++14 -w -DODB_COMPILER -MM -MF "${depfile}" -MT "${common}"
              "${folders}" -I "${of_folder}" "${of_path}"
      COMMAND ${command} ${epilogue} "${folders}" -I "${of_folder}" "${of_path}"
      ${traits}
      DEPENDS "${of_path}" ${script} DEPFILE "${depfile}" COMMENT "Mapping ${name}, whose header is read as C++14"
      COMMAND_EXPAND_LISTS VERBATIM)
  endforeach()
  set(${prefix}_COMMON_SOURCES ${common_sources} PARENT_SCOPE)
  set(${prefix}_MYSQL_SOURCES ${mysql_sources} PARENT_SCOPE)
  set(${prefix}_SQLITE_SOURCES ${sqlite_sources} PARENT_SCOPE)
endfunction()
