// SPDX-License-Identifier: BSL-1.0
#include "process/transfer/teller.hpp"

#include "dlock/lock_keys.hpp"
#include "dlock/lock_service.hpp"
#include "dlock/odb/verify.hpp"
#include "odb/verify/bank.hpp"

namespace dlock::test {

void teller::lock(const std::vector<std::uint64_t>& wallets, const lock_options& options) {
  std::vector<lock_key> keys;
  for (const auto id : wallets) keys.push_back(wallet_key(locks_, bank_, id));
  auto mine = locks_.acquire_all(lock_keys(keys), options);
  std::vector<std::string> proofs;
  for (const auto& each : mine) proofs.push_back(each.verification().text);
  for (std::size_t i = 0; i != wallets.size(); ++i) fences_[wallets[i]] = mine[keys[i]].fencing_token();
  wallets_ = wallets;
  proofs_ = std::move(proofs);
  held_ = std::move(mine);
}

std::uint64_t teller::fence(std::uint64_t wallet) const { return fences_.at(wallet); }

void teller::read() {
  for (const auto id : wallets_) {
    balances_[id] = (open_ == nullptr ? test::read(bank_, id) : load(bank_, id)).balance;
  }
}

void teller::begin() { open_ = std::make_unique<odb::transaction>(test::begin(bank_)); }

void teller::verify(proof proof) {
  if (proof == proof::leases) {
    held_.verify(*open_);
  } else if (proof == proof::statements) {
    for (const auto& each : proofs_) {
      if (bank_.execute(each) == 1) continue;
      open_->rollback();
      throw refused_by_statement(each);
    }
  }
}

void teller::add(std::uint64_t wallet, std::int64_t delta, const std::string& transfer) {
  const auto before = balances_.at(wallet);
  write(bank_, wallet, before + delta, fences_.at(wallet));
  entry entry;
  entry.wallet = wallet;
  entry.fence = fences_.at(wallet);
  entry.before = before;
  entry.delta = delta;
  entry.transfer = transfer;
  persist(bank_, entry);
}

void teller::commit() {
  open_->commit();
  open_.reset();
}

void teller::reset() noexcept {
  open_.reset();
  held_ = {};
}

void teller::release() { held_.release(); }

}  // namespace dlock::test
