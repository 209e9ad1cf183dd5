// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "contract/store/store_contract.hpp"
#include "contract/url_fixture.hpp"
#include "dlock/stores/sqlite.hpp"
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

/// What names that grant of an actor's in a statement for a transaction.
inline request grant_of(const actor& who, std::string_view key, std::uint64_t fence) {
  return {.resource = key, .session = who.id, .nonce = who.nonce, .fence = fence};
}

}  // namespace dlock::test
