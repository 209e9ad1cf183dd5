// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

/// What the processes of the transfer tests say that they did, and whether the wallets agree.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "odb/verify/wallet.hpp"

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

  std::string line() const;
  /// Throws std::invalid_argument.
  static transfer_record parse(std::string_view line);
};

/// A file that many processes append to, a line at a time.
class transfer_log {
 public:
  explicit transfer_log(const std::string& path);
  ~transfer_log();
  transfer_log(const transfer_log&) = delete;
  transfer_log& operator=(const transfer_log&) = delete;

  void append(const transfer_record& one) const;
  static std::vector<transfer_record> read(const std::string& path);
  /// The process that was the last to take its locks, if it has not ended that transfer. 0: none.
  static std::int64_t last_holder(const std::string& path);

 private:
  int file_;
};

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
