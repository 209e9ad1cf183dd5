// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <odb/core.hxx>

/// Nothing in the table keeps a payment from being added twice.
#pragma db object table("sample_once_account")
struct account {
#pragma db id
  std::uint64_t id = 0;
  std::int64_t balance = 0;
};
