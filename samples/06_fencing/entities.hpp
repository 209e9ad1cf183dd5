// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <odb/core.hxx>
#include <string>

/// How many there are of something.
#pragma db object table("sample_stock")
struct stock {
#pragma db id
  std::string name;
  std::int64_t pieces = 0;
};
