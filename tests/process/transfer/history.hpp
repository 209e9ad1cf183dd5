// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What the processes of the transfer tests say that they did, and whether the wallets agree.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "odb/verify/wallet.hpp"
#include "process/record_log.hpp"

namespace dlock::test {

struct transfer_record {
  enum class kind : char {
    begun = 'B',
    holding = 'H',  ///< it has its locks
    ended = 'E',
  };
  kind what = kind::begun;
  std::int64_t process = 0;
  std::string transfer{};
  /// Of `ended`; the first word is one of
  ///   committed   both wallets were written
  ///   timeout     the locks were not to be had
  ///   lost        they were lost before the transaction began to verify
  ///   refused     verify() or its statement said no
  ///   busy        the database had no time, or chose this transaction to break a deadlock
  ///   failed      anything else: must not happen
  std::string outcome{};

  /// The process that was the last to take its locks, if it has not ended that transfer. 0: none.
  std::int64_t holder_after(std::int64_t before) const {
    if (what == kind::holding) return process;
    return what == kind::ended && process == before ? 0 : before;
  }
  std::string line() const;
  /// Throws std::invalid_argument.
  static transfer_record parse(std::string_view line);
};

using transfer_log = record_log<transfer_record>;

struct transfer_findings {
  std::vector<std::string> violations{};
  std::map<std::string, std::uint64_t> outcomes{};  ///< by first word
  std::map<std::string, std::uint64_t> reasons{};   ///< of those that did not commit, whole
  std::uint64_t open = 0;                           ///< without an end: their processes were killed
  std::string text() const;
};

/// Each wallet began with `balance` and fence 0. `entries`: in the order of the writes. `killed`: processes.
transfer_findings check_transfers(std::int64_t balance, const std::vector<wallet>& wallets,
                                  const std::vector<entry>& entries, const std::vector<transfer_record>& log,
                                  std::uint64_t killed);

}  // namespace dlock::test
