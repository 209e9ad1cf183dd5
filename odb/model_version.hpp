// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The version of the lock tables: (oldest that can be migrated, present). Each mapped header includes this.

#include <odb/core.hxx>

#ifdef ODB_COMPILER
#pragma db model version(1, 1)
#endif
