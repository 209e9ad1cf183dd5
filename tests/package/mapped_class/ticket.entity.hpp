// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlock/odb/lock_columns.hpp>

#include <cstdint>
#include <string>

struct ticket {
  std::int64_t id = 0;
  std::string buyer{};
  std::int32_t row = 0;
  dlock::lock_columns lock{};
  std::uint32_t version = 0;
};
#ifdef ODB_COMPILER
#pragma db object(ticket) optimistic
#pragma db member(ticket::id) id
#pragma db member(ticket::version) version
#endif
