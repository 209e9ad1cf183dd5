// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <dlock/odb/lock_columns.hpp>
#include <odb/core.hxx>
#include <string>

/// An order, which is locked in its own row: `lock`, `optimistic` and the version make it lockable.
#pragma db object table("sample_order") optimistic
struct order {
#pragma db id
  std::int32_t id = 0;
  std::string customer;
#pragma db mysql : type("VARCHAR(20)") index
  std::string status = "paid";
  std::int32_t shipped_by = 0;
  dlock::lock_columns lock;
#pragma db version
  std::uint32_t version = 0;
};
