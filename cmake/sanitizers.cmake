# SPDX-License-Identifier: GPL-2.0-or-later
# Sanitizers for dlock's own targets, chosen by DLOCK_SANITIZE.
function(dlock_set_sanitizers target)
  if(DLOCK_SANITIZE STREQUAL "")
    return()
  endif()
  set(flags -fsanitize=${DLOCK_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_options(${target} PRIVATE ${flags})
  target_link_options(${target} PRIVATE ${flags})
endfunction()
