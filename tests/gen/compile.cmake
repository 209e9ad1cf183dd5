# SPDX-License-Identifier: BSL-1.0
# Generates from HEADER and compiles what comes of it:
#   cmake -D GEN=... -D HEADER=... -D WORK=... -D COMPILER=... -D FLAGS=a,b -P compile.cmake
# A header with lines "// fails: <regex>" must not compile, and the compiler must say each of them. Any other one must compile
# without a warning.
string(REPLACE "," ";" FLAGS "${FLAGS}")
cmake_path(GET HEADER PARENT_PATH folder)
cmake_path(GET HEADER FILENAME file)
cmake_path(GET HEADER STEM name)
file(MAKE_DIRECTORY "${WORK}")
execute_process(COMMAND ${GEN} ${file} --output-dir "${WORK}" -- ${FLAGS} WORKING_DIRECTORY "${folder}" COMMAND_ERROR_IS_FATAL ANY)
file(STRINGS "${HEADER}" expected REGEX "^// fails: ")
file(WRITE "${WORK}/${name}.cpp" "#include \"${name}.locked.hpp\"\n")
set(warnings "")
if(NOT expected)
  set(warnings -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror)
endif()
execute_process(
  COMMAND ${COMPILER} ${FLAGS} ${warnings} -fsyntax-only -I "${folder}" -I "${WORK}" "${WORK}/${name}.cpp"
  WORKING_DIRECTORY "${folder}" RESULT_VARIABLE code ERROR_VARIABLE output OUTPUT_VARIABLE output)
string(REGEX REPLACE "[ \r\n]+" " " flat "${output}")
if(NOT expected AND NOT code EQUAL 0)
  message(FATAL_ERROR "what is generated from ${file} must compile without a warning:\n${output}")
elseif(expected AND code EQUAL 0)
  message(FATAL_ERROR "what is generated from ${file} compiles, and must not")
endif()
foreach(line IN LISTS expected)
  string(REGEX REPLACE "^// fails: " "" line "${line}")
  if(NOT flat MATCHES "${line}")
    message(FATAL_ERROR "the compiler was to say '${line}' of ${file}:\n${output}")
  endif()
endforeach()
