// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <dlock/odb/lock_columns.hpp>
#include <odb/core.hxx>
#include <string>

/// Its rows are locked in place: `lock`, `optimistic` and the version make it lockable.
#pragma db object table("annotated_product") optimistic
struct product {
#pragma db id
  std::int32_t id = 0;
  std::int32_t stock = 0;
  dlock::lock_columns lock;
#pragma db version
  std::uint32_t version = 0;
};

#pragma db object table("annotated_account")
struct account {
#pragma db id
  std::int32_t id = 0;
  std::int64_t balance = 0;
};
