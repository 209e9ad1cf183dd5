// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The steps of a transfer between wallets that are locked, each by itself, so that anything can happen between them.

#include <dlock/detail/odb_compat.hpp>
//
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <odb/database.hxx>
#include <odb/transaction.hxx>
#include <stdexcept>
#include <string>
#include <vector>

#include "dlock/lock_options.hpp"
#include "dlock/multi_lease.hpp"

namespace dlock {
class lock_service;
}

namespace dlock::test {

/// How a teller makes sure of its locks before it writes.
enum class proof {
  leases,      ///< dlock::verify()
  statements,  ///< lease::verification(), asked for when the locks were taken: nothing looks at a clock
  nothing,     ///< not at all, to see what that leads to
};

/// Its statement changed no row. The transaction has been rolled back.
struct refused_by_statement : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class teller {
 public:
  teller(lock_service& locks, odb::database& bank) : locks_(locks), bank_(bank) {}

  /// All of them, or an exception.
  void lock(const std::vector<std::uint64_t>& wallets, const lock_options& options);
  bool holds() const noexcept { return static_cast<bool>(held_); }
  std::uint64_t fence(std::uint64_t wallet) const;
  /// In a transaction of their own, unless one is open.
  void read();
  std::int64_t balance(std::uint64_t wallet) const { return balances_.at(wallet); }
  void begin();
  void verify(proof proof);
  /// Writes what was read, changed by `delta`, whatever is there now.
  void add(std::uint64_t wallet, std::int64_t delta, const std::string& transfer);
  void commit();
  /// Rolls back and lets all locks go.
  void reset() noexcept;
  /// Lets the locks go; throws lock_lost if they were not ours any more.
  void release();
  /// The same by the destructors of the leases.
  void drop() noexcept { held_ = {}; }

 private:
  lock_service& locks_;
  odb::database& bank_;
  multi_lease held_{};
  std::vector<std::uint64_t> wallets_{};
  std::vector<std::string> proofs_{};  // in the order of the leases
  std::map<std::uint64_t, std::uint64_t> fences_{};
  std::map<std::uint64_t, std::int64_t> balances_{};
  std::unique_ptr<odb::transaction> open_{};
};

}  // namespace dlock::test
