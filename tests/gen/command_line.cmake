# SPDX-License-Identifier: BSL-1.0
# What dlock-gen returns, writes and leaves alone: cmake -D GEN=... -D WORK=... -D FLAGS=a,b -P command_line.cmake
cmake_minimum_required(VERSION 3.25)
string(REPLACE "," ";" FLAGS "${FLAGS}")
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}/include")

# expect(<code> "<regex of what it prints>" <argument>...)
function(expect code text)
  execute_process(COMMAND ${GEN} ${ARGN} WORKING_DIRECTORY "${WORK}" RESULT_VARIABLE actual OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT actual STREQUAL code OR NOT output MATCHES "${text}")
    message(FATAL_ERROR "dlock-gen ${ARGN}: returned ${actual}, not ${code} with '${text}':\n${output}")
  endif()
endfunction()
function(expect_file file text)
  file(READ "${WORK}/${file}" actual)
  if(NOT actual MATCHES "${text}")
    message(FATAL_ERROR "${file} has no '${text}':\n${actual}")
  endif()
endfunction()

# A header that includes another one, and what is generated from itself.
file(WRITE "${WORK}/include/types.hpp" "#pragma once\nstruct order { int id = 0; };\n")
file(WRITE "${WORK}/include/service.hpp" "#pragma once
#include <dlock/annotations.hpp>
#include \"types.hpp\"
struct service { DLOCK_LOCKED(\"order:{o.id}\") void place(const order& o); };
#include \"service.locked.hpp\"
")
set(flags -- ${FLAGS} -I out)

# ---- the command line -------------------------------------------------------------------------------------------------
expect(0 "0  done\n  1  an annotation or a header is wrong\n  2  the command line is wrong\n  3  a file can.t be read or written\n  4 " --help)
expect(0 "dlock-gen [0-9]+[.][0-9]+[.][0-9]+" --version)
expect(2 "a header is missing")
expect(2 "" --unknown include/service.hpp)
expect(2 "exclude each other" --explain --list include/service.hpp)
expect(2 "--strict needs --list" --strict include/service.hpp)
expect(2 "exclude each other" -p . include/service.hpp ${flags})
expect(2 "--list needs sources" --list)
expect(2 "--depfile needs exactly one header" --depfile d include/service.hpp include/types.hpp)

# ---- files -------------------------------------------------------------------------------------------------------------
expect(3 "there is no file missing.hpp" missing.hpp ${flags})
expect(3 "no compile_commands.json" -p nowhere include/service.hpp)
file(WRITE "${WORK}/a_file" "")
expect(3 "can't be written" include/types.hpp -o a_file/out ${flags})

expect(0 "^$" include/service.hpp -o out --depfile out/service.d ${flags})
expect_file(out/service.locked.hpp "class service_locked")
expect_file(out/service.locked.hpp "#include \"service.hpp\"")
expect_file(out/service.d "^out/service[.]locked[.]hpp:")
expect_file(out/service.d "include/types[.]hpp")
expect_file(out/service.d "dlock/annotations[.]hpp")
file(READ "${WORK}/out/service.d" rule)
if(rule MATCHES "stddef|service[.]locked[.]hpp[^:]|dlock-gen-input")
  message(FATAL_ERROR "the rule names what is not a source: ${rule}")
endif()

# Its output includes the header, which includes the output: what is there already is never read.
file(WRITE "${WORK}/out/service.locked.hpp" "#error old\n")
expect(0 "^$" include/service.hpp -o out ${flags})
expect_file(out/service.locked.hpp "class service_locked")

# Unchanged: its time stays. Otherwise it is written.
file(TOUCH "${WORK}/out/service.locked.hpp")
execute_process(COMMAND touch -d "2001-01-01" "${WORK}/out/service.locked.hpp")
file(TIMESTAMP "${WORK}/out/service.locked.hpp" before "%Y")
expect(0 "^$" include/service.hpp -o out --keep-unchanged ${flags})
file(TIMESTAMP "${WORK}/out/service.locked.hpp" after "%Y")
if(NOT before STREQUAL "2001" OR NOT after STREQUAL "2001")
  message(FATAL_ERROR "an output that is the same was written: ${before} ${after}")
endif()
expect(0 "^$" include/service.hpp -o out ${flags})
file(TIMESTAMP "${WORK}/out/service.locked.hpp" after "%Y")
if(after STREQUAL "2001")
  message(FATAL_ERROR "an output was not written")
endif()

# A mistake leaves what was generated before as it is.
file(WRITE "${WORK}/include/wrong.hpp" "#include <dlock/annotations.hpp>\nstruct wrong { DLOCK_LOCKED(\"{a}\") void f(int b); };\n")
file(WRITE "${WORK}/out/wrong.locked.hpp" "before")
expect(1 "'a' is no parameter" include/wrong.hpp -o out ${flags})
expect_file(out/wrong.locked.hpp "^before$")
# Of several headers the right ones are written all the same.
file(REMOVE "${WORK}/out/service.locked.hpp")
expect(1 "'a' is no parameter" include/wrong.hpp include/service.hpp -o out ${flags})
expect_file(out/service.locked.hpp "class service_locked")
# A header without annotations gives one that can be included.
expect(0 "^$" include/types.hpp -o out ${flags})
expect_file(out/types.locked.hpp "#include \"types.hpp\"")

# Without libclang's own headers it says which package has them.
file(WRITE "${WORK}/include/needs_stddef.hpp" "#include <stddef.h>\n")
expect(1 "stddef.h' file not found: .*libclang-common-[0-9]+-dev" include/needs_stddef.hpp -o out ${flags} -nostdinc)

# ---- a compilation database: with what a compiler gets that is not clang ------------------------------------------------
list(JOIN FLAGS "\", \"" words)
file(WRITE "${WORK}/include/service.cpp" "#include \"service.hpp\"\nvoid service::place(const order&) {}\n")
file(WRITE "${WORK}/database/compile_commands.json" "[{\"directory\": \"${WORK}\", \"file\": \"include/service.cpp\",
  \"arguments\": [\"/usr/bin/g++\", \"${words}\", \"-DX=1\", \"-Iout\", \"-Iinclude\", \"-fno-such-option-of-clang\", \"-Wno-such-warning\",
                \"-include\", \"${WORK}/cmake_pch.hxx\", \"-o\", \"x.o\", \"-c\", \"include/service.cpp\"]}]\n")
expect(0 "^$" -p database include/service.hpp -o from_database)
expect_file(from_database/service.locked.hpp "class service_locked")
expect(0 "\"function\": \"service::place" -p database --list)
expect(0 "key +order:{o.id}" -p database --explain include/service.hpp)
