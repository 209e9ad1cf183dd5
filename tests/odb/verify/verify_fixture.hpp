// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <string>

namespace dlock::test {

/// Where locks and the application's tables are: one implementation per store, linked with the same tests. Nobody else
/// uses these tables.
class verify_fixture {
 public:
  virtual ~verify_fixture() = default;
  /// For lock_service, in any process of this host.
  virtual std::string locks() const = 0;
  /// The same server (SQLite: the same file), for open_bank().
  virtual std::string bank() const = 0;
  /// Locks whose renewal no transaction of the application's disturbs: the same, or on SQLite a file of their own.
  virtual std::string locks_apart() const = 0;
  /// Whether a transaction locks rows, and not the whole database.
  virtual bool locks_rows() const = 0;
};

std::unique_ptr<verify_fixture> make_verify_fixture();

}  // namespace dlock::test
