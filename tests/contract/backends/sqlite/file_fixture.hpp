// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "contract/store/store_contract.hpp"
#include "contract/store_fixture.hpp"
#include "dlock/stores/sqlite.hpp"
#include "stores/sqlite/client/wake_file.hpp"
#include "support/scratch_folder.hpp"

namespace dlock::test {

/// One lock file in a folder of its own.
class sqlite_file_fixture : public url_fixture {
 public:
  /// `with`: parameters of the URL, e.g. "?busy_timeout=60".
  explicit sqlite_file_fixture(std::string with = {}) : parameters(std::move(with)) {}

  std::string url() const override { return "sqlite:" + path + parameters; }
  bool may_be_contended() const override { return true; }  // the file has one writer at a time
  /// Who forks may not open the same file again.
  std::string url_after_fork() const override { return "sqlite:" + (folder / "childs.db"); }

  scratch_folder folder{};
  const std::string path = folder / "locks.db";
  std::string parameters;  ///< of the stores to come
};

/// How many locks threads hold that wait for others, as the wake file of that database has it.
inline std::size_t held_by_waiters_of(const std::string& database) {
  stores::sqlite::wake_file wakes(database);
  std::string why;
  const auto file = wakes.open(false, why);
  std::size_t locks = 0;
  if (file == nullptr) return locks;
  for (const auto& each : file->nested_waiters()) locks += each.held.size();
  return locks;
}

}  // namespace dlock::test
