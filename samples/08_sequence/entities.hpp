// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <odb/core.hxx>
#include <string>

/// The last number that was given.
#pragma db object table("sample_counter")
struct counter {
#pragma db id
  std::string name;
  std::int64_t last = 0;
};

/// A document. Nothing in the table itself keeps two from having the same number.
#pragma db object table("sample_invoice")
struct invoice {
#pragma db id auto
  std::uint64_t id = 0;
  std::int64_t number = 0;
  std::int32_t clerk = 0;
};
