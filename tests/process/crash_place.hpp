// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>
#include <string>

namespace dlock::test {

/// Where the crash tests take their locks: one implementation per store, linked with the same tests.
class crash_place {
 public:
  virtual ~crash_place() = default;
  /// For any process of this host. Nobody else uses these tables.
  virtual std::string url() const = 0;
  /// For a child of fork() whose parent has url() open: the same, if the store can be opened there.
  virtual std::string url_after_fork() const = 0;
};

std::unique_ptr<crash_place> make_crash_place();

}  // namespace dlock::test
