# SPDX-License-Identifier: BSL-1.0
# Warnings for dlock's own targets; nothing here reaches a user's target.
function(dlock_set_warnings target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wempty-body
    # ODB's annotations are pragmas that only its own compiler knows.
    -Wno-unknown-pragmas
    # ODB's MySQL runtime includes a header at which MariaDB's client says #warning.
    -Wno-cpp
    # Clang alone knows what a mutex guards (src/base/mutex.hpp).
    $<$<CXX_COMPILER_ID:Clang,AppleClang>:-Wthread-safety>
    # g++ 12 sees overlaps and overruns in std::string concatenation where there are none (GCC bug 105651).
    "$<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict;-Wno-array-bounds>"
    # It takes an operator new that is a template, as that of a coroutine's frame is, for one of another class. As a flag,
    # because a precompiled header forgets the pragma.
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,14>>:-Wno-mismatched-new-delete>
    # With -O3 it also takes the std::string of a default-initialised aggregate for uninitialised.
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,14>>:-Wno-maybe-uninitialized>
    $<$<BOOL:${DLOCK_WERROR}>:-Werror>)
endfunction()
