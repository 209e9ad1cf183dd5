// SPDX-License-Identifier: BSL-1.0
#pragma once

/// A statement that proves, inside a transaction of the application's, that a lease is still ours: for programs that
/// talk to the database through a client library which dlock does not know. With ODB use dlock/odb/verify.hpp.

#include "dlock/detail/cxx20.hpp"
//
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "dlock/export.hpp"

namespace DLOCK_EXPORT dlock {

/// A value: execute `sql` with `parameters`, in the transaction that writes, before its commit. If it changes
/// `expected_rows` rows, no other process can be granted the key before that transaction ends. If it changes another
/// number, or fails in any way, roll back: nothing of the transaction may be committed (on MySQL, a transaction is
/// still open after error 1205, and after 1213 each later write would commit by itself). Several leases: in the order
/// of their keys, or two such transactions may deadlock.
struct verification {
  struct bytes {
    std::string value{};
  };
  using parameter = std::variant<std::int64_t, std::uint64_t, std::string, bytes>;

  std::string sql{};                    ///< each ? stands for the next parameter
  std::vector<parameter> parameters{};  ///< text for text columns, bytes for binary ones
  std::string text{};                   ///< the same statement with its parameters written into it
  std::uint64_t expected_rows = 1;
};

}  // namespace dlock
