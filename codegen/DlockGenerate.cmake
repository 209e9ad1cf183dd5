# SPDX-License-Identifier: BSL-1.0
# Runs dlock-gen on headers with annotations (dlock/annotations.hpp).
#
# dlock_generate(<target> HEADERS <file>... [OUTPUT_DIR <dir>] [OPTIONS <option>...])
#
# For each x.hpp the build makes x.locked.hpp in OUTPUT_DIR (default: "generated/<target>" in the current build folder), again whenever
# the header, anything that it includes, or dlock-gen changes. <target>, which exists, is an executable or a library whose sources
# include it; dlock::core is linked, and OUTPUT_DIR and the folders of the headers are added to the include path. The headers are
# read with the include path and the macros of the target, as C++20 or what CXX_STANDARD or the compile features of the target
# (cxx_std_23) have beyond it. A macro with a ';' in its value is left out. OPTIONS are more arguments for the compiler in dlock-gen,
# such as -fno-exceptions.

include("${CMAKE_CURRENT_LIST_DIR}/DlockCodegen.cmake")
cmake_policy(VERSION 3.25)

function(dlock_generate target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "OUTPUT_DIR" "HEADERS;OPTIONS")
  _dlock_check_call(dlock_generate ${target} "${arg_HEADERS}" "${arg_UNPARSED_ARGUMENTS}")
  if(NOT TARGET dlock::gen)
    message(FATAL_ERROR "dlock_generate(${target}): this dlock was built without dlock-gen, which needs libclang "
      "(Debian: libclang-dev nlohmann-json3-dev libcli11-dev): build it with -D DLOCK_GEN=ON")
  endif()
  _dlock_output_dir(arg_OUTPUT_DIR ${target})
  _dlock_claim_outputs(dlock_generate ${target} "${arg_OUTPUT_DIR}" .locked.hpp ${arg_HEADERS})
  _dlock_include_folders(folders ${target})
  set(standard "$<TARGET_PROPERTY:${target},CXX_STANDARD>")
  set(features "$<TARGET_PROPERTY:${target},COMPILE_FEATURES>")
  set(newer "$<VERSION_GREATER_EQUAL:$<IF:$<BOOL:${standard}>,${standard},20>,23>")
  set(standard "-std=c++$<IF:$<OR:${newer},$<IN_LIST:cxx_std_23,${features}>,$<IN_LIST:cxx_std_26,${features}>>,2b,20>")
  # One with a ';' would come apart into arguments that are none.
  set(macros "$<FILTER:$<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>,EXCLUDE,[;]>")
  # Ninja sees that an output has not changed, and compiles nothing then; make would run dlock-gen again and again.
  set(keep $<$<BOOL:$<FILTER:${CMAKE_GENERATOR},INCLUDE,^Ninja>>:--keep-unchanged>)

  set(outputs "")
  foreach(header IN LISTS arg_HEADERS)
    _dlock_header(of "${header}")
    set(output "${arg_OUTPUT_DIR}/${of_name}.locked.hpp")
    set(depfile "${output}.d")
    add_custom_command(OUTPUT "${output}"
      COMMAND dlock::gen "${of_path}" --output-dir "${arg_OUTPUT_DIR}" --depfile "${depfile}" "${keep}" --
              "${standard}" "$<$<BOOL:${macros}>:-D$<JOIN:${macros},;-D>>" "$<$<BOOL:${folders}>:-I$<JOIN:${folders},;-I>>"
              -I "${of_folder}" -I "${arg_OUTPUT_DIR}" ${arg_OPTIONS}
      DEPENDS "${of_path}" dlock::gen DEPFILE "${depfile}" COMMENT "Locking what is annotated in ${of_name}"
      COMMAND_EXPAND_LISTS VERBATIM)
    list(APPEND outputs "${output}")
  endforeach()
  target_sources(${target} PRIVATE ${outputs})
  target_link_libraries(${target} PUBLIC dlock::core)
  _dlock_use_generated(${target} "${arg_OUTPUT_DIR}" ${arg_HEADERS})
endfunction()
