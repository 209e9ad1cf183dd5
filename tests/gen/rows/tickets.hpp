// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <dlock/odb/lock_columns.hpp>
#include <odb/core.hxx>
#include <string>

/// Locked in its own row.
#pragma db object table("gen_ticket") optimistic
struct ticket {
#pragma db id
  std::int64_t id = 0;
  std::string buyer{};
  dlock::lock_columns lock{};
#pragma db version
  std::uint32_t version = 0;
};

#pragma db object table("gen_sale")
struct sale {
#pragma db id auto
  std::int64_t id = 0;
  std::int64_t ticket = 0;
  std::string buyer{};
};
