// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlock/lock_key.hpp>
#include <odb/core.hxx>

/// A mapped class whose header includes more than ODB's compiler can read.
#pragma db object
struct too_new {
#pragma db id
  int id = 0;
};
