# SPDX-License-Identifier: BSL-1.0
# Has ODB's compiler map shapes.hpp and dlock write its traits, by the commands of docs/row-locks.md, and compares them:
#   cmake -D ODB=<compiler> -D SOURCE=<this folder> -D CODEGEN=<codegen/> -D WORK=<folder> -P run.cmake
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")
execute_process(COMMAND "${ODB}" --multi-database dynamic --database common --database mysql --database sqlite --std c++14
    --generate-query --hxx-epilogue "#include \"shapes-dlock.hxx\"" --output-dir "${WORK}" "${SOURCE}/shapes.hpp"
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} -D "FOLDER=${WORK}" -D NAME=shapes -D DATABASES=mysql,sqlite
    -P "${CODEGEN}/entity_traits.cmake" COMMAND_ERROR_IS_FATAL ANY)
file(READ "${WORK}/shapes-odb.hxx" header)
string(FIND "${header}" "#include \"shapes-dlock.hxx\"" at)
if(at EQUAL -1)
  message(FATAL_ERROR "shapes-odb.hxx does not include shapes-dlock.hxx")
endif()
execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files --ignore-eol "${SOURCE}/shapes-dlock.hxx" "${WORK}/shapes-dlock.hxx"
  RESULT_VARIABLE different)
if(different)
  message(FATAL_ERROR "${WORK}/shapes-dlock.hxx is not ${SOURCE}/shapes-dlock.hxx")
endif()
