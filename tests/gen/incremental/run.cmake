# SPDX-License-Identifier: BSL-1.0
# What is generated again when something has changed, and what is not:
#   cmake -D GEN=... -D DLOCK=<source folder> -D COMPILER=... -D GENERATOR=<Ninja or Unix Makefiles> -D WORK=... -P run.cmake
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE "${WORK}")
file(COPY "${CMAKE_CURRENT_LIST_DIR}/CMakeLists.txt" DESTINATION "${WORK}/source")
set(source "${WORK}/source")
file(WRITE "${source}/types.hpp" "#pragma once\nstruct item { int id = 0; };\n")
file(WRITE "${source}/first.hpp" "#pragma once
#include <dlock/annotations.hpp>
#include \"types.hpp\"
struct first { DLOCK_LOCKED(\"item:{i.id}\") void use(const item& i, int n = NUMBER); };
")
file(WRITE "${source}/second.hpp" "#pragma once
#include <dlock/annotations.hpp>
struct second { DLOCK_LOCKED(\"second\") void use(); };
")
foreach(name service order)
  file(WRITE "${source}/dotted.${name}.hpp" "#pragma once
#include <dlock/annotations.hpp>
#if __cplusplus <= 202002L
#error the target has a later standard
#endif
struct dotted_${name} { DLOCK_LOCKED(\"dotted\") void use(int n = NUMBER); };
")
endforeach()
# Compiled is only that the headers were generated: there is no library.
file(WRITE "${source}/service.cpp" "#if !__has_include(\"first.locked.hpp\") || !__has_include(\"second.locked.hpp\")
#error they were not generated before this was compiled
#endif
")

# build(<regex of what must run, empty: nothing> <regex of what must not>)
function(build wanted unwanted)
  execute_process(COMMAND ${CMAKE_COMMAND} --build "${WORK}/build" RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0 OR NOT output MATCHES "${wanted}" OR (unwanted AND output MATCHES "${unwanted}"))
    message(FATAL_ERROR "the build was to do '${wanted}' and not '${unwanted}': ${code}\n${output}")
  endif()
endfunction()

function(change file text)
  file(APPEND "${source}/${file}" "${text}")
endfunction()

execute_process(COMMAND ${CMAKE_COMMAND} -G ${GENERATOR} -S "${source}" -B "${WORK}/build" -D GEN=${GEN} -D DLOCK=${DLOCK}
  -D CMAKE_CXX_COMPILER=${COMPILER} COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
build("Locking what is annotated in first.*Locking what is annotated in second|Locking what is annotated in second.*Locking what is annotated in first" "")
build("" "Locking")
foreach(made service/first service/second modern/first modern/second modern/dotted.service modern/dotted.order)
  if(NOT EXISTS "${WORK}/build/generated/${made}.locked.hpp")
    message(FATAL_ERROR "generated/${made}.locked.hpp was not made")
  endif()
endforeach()
# The same file made by two headers, or by two calls.
file(MAKE_DIRECTORY "${source}/other")
file(WRITE "${source}/other/first.hpp" "")
foreach(twice second.hpp other/first.hpp)
  cmake_path(GET twice STEM name)
  execute_process(COMMAND ${CMAKE_COMMAND} -G ${GENERATOR} -S "${source}" -B "${WORK}/twice" -D GEN=${GEN} -D DLOCK=${DLOCK}
    -D CMAKE_CXX_COMPILER=${COMPILER} -D TWICE=${twice} RESULT_VARIABLE code OUTPUT_QUIET ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  if(code EQUAL 0 OR NOT output MATCHES "${twice} and .*/${name}.hpp \\(for modern\\) both make .*/generated/modern/${name}.locked.hpp")
    message(FATAL_ERROR "${name}.locked.hpp is made twice, but: ${code}\n${output}")
  endif()
endforeach()
change(types.hpp "struct other {};\n")
build("Locking what is annotated in first" "annotated in second")
change(second.hpp "struct DLOCK_DEFAULTS(.ttl = 5s) third { DLOCK_LOCKED(\"third\") void use(); };\n")
build("Locking what is annotated in second" "annotated in first")
file(READ "${WORK}/build/generated/service/second.locked.hpp" text)
if(NOT text MATCHES "class third_locked")
  message(FATAL_ERROR "second.locked.hpp was not written anew:\n${text}")
endif()
# A mistake ends the build, and the next one tries again.
file(READ "${source}/first.hpp" right)
change(first.hpp "struct wrong { DLOCK_LOCKED(\"{x}\") void use(int i); };\n")
execute_process(COMMAND ${CMAKE_COMMAND} --build "${WORK}/build" RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(code EQUAL 0 OR NOT output MATCHES "first.hpp:5:31: error: 'x' is no parameter of use")
  message(FATAL_ERROR "a wrong header was built: ${code}\n${output}")
endif()
file(WRITE "${source}/first.hpp" "${right}")
build("Locking what is annotated in first" "annotated in second")
