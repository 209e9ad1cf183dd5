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
///
/// On a Galera cluster a write of another node may roll the transaction back in the last moment of a SELECT. The error
/// comes after the rows, so a program that does not read a result to its end misses it, and its next writes commit one
/// by one. There execute `sql` once more before the first write that follows a read, and once more right before COMMIT,
/// and look each time for `expected_rows` and for SERVER_STATUS_IN_TRANS in the answer.
struct verification {
  struct bytes {
    std::string value{};
  };
  using parameter = std::variant<std::int64_t, std::uint64_t, std::string, bytes>;

  std::string sql{};                    ///< each ? stands for the next parameter
  std::vector<parameter> parameters{};  ///< text for text columns, bytes for binary ones
  std::string text{};                   ///< the same statement with its parameters written into it
  std::uint64_t expected_rows = 1;
  /// It is a SELECT, which must find `expected_rows` rows: that of a reader or of a permit on MySQL and MariaDB.
  bool reads = false;
};

}  // namespace dlock
