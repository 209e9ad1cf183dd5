// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <odb/core.hxx>
#include <string>

#pragma db object table("sample_wallet")
struct wallet {
#pragma db id
  std::string name;
  std::int64_t balance = 0;
};

/// A transfer that took place.
#pragma db object table("sample_transfer")
struct transfer {
#pragma db id auto
  std::uint64_t id = 0;
  std::string source;
  std::string target;
  std::int64_t amount = 0;
};
