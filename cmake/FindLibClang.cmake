# SPDX-License-Identifier: BSL-1.0
# Finds libclang, the C interface of clang's parser, and defines LibClang::libclang. The newest release is taken, unless
# LibClang_ROOT names the folder of one (/usr/lib/llvm-14), or LibClang_INCLUDE_DIR and LibClang_LIBRARY do.
file(GLOB LibClang_HINTS LIST_DIRECTORIES true /usr/lib/llvm-* /usr/lib64/llvm* /usr/local/opt/llvm /opt/homebrew/opt/llvm)
list(SORT LibClang_HINTS COMPARE NATURAL ORDER DESCENDING)
find_path(LibClang_INCLUDE_DIR clang-c/Index.h HINTS ${LibClang_HINTS} PATH_SUFFIXES include)
if(LibClang_INCLUDE_DIR)
  # Both of one release.
  cmake_path(GET LibClang_INCLUDE_DIR PARENT_PATH LibClang_HINTS)
endif()
find_library(LibClang_LIBRARY NAMES clang libclang HINTS ${LibClang_HINTS} PATH_SUFFIXES lib lib64)
mark_as_advanced(LibClang_INCLUDE_DIR LibClang_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibClang REQUIRED_VARS LibClang_LIBRARY LibClang_INCLUDE_DIR)

if(LibClang_FOUND AND NOT TARGET LibClang::libclang)
  add_library(LibClang::libclang UNKNOWN IMPORTED)
  set_target_properties(LibClang::libclang PROPERTIES
    IMPORTED_LOCATION "${LibClang_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${LibClang_INCLUDE_DIR}")
endif()
