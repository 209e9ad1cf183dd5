# SPDX-License-Identifier: BSL-1.0
# Sanitizers for dlock's own targets, chosen by DLOCK_SANITIZE, and with DLOCK_FUZZ what libFuzzer needs to see of them.
function(dlock_set_sanitizers target)
  if(DLOCK_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
  if(DLOCK_SANITIZE STREQUAL "")
    return()
  endif()
  set(flags -fsanitize=${DLOCK_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(DLOCK_SANITIZE MATCHES "undefined")
    # ODB's headers (query.hxx) copy a bool that no constructor of theirs set; nobody reads the copy.
    list(APPEND flags -fno-sanitize=bool)
  endif()
  target_compile_options(${target} PRIVATE ${flags})
  target_link_options(${target} PRIVATE ${flags})
endfunction()
