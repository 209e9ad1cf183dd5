// SPDX-License-Identifier: BSL-1.0
#pragma once

/// One sentence instead of the many errors of a compiler that is set to an older standard.

#if defined(ODB_COMPILER)
#error \
    "dlock: ODB's compiler reads headers of mapped classes as C++14, which this header is not: such a header may include <dlock/odb/lock_columns.hpp> and no other one of dlock's; include the others where the classes are used"
#elif __cplusplus < 202002L
#error \
    "dlock needs C++20: compile with -std=c++20 or later (CMake: link dlock's targets, or target_compile_features(... cxx_std_20))"
#endif
