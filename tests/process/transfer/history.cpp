// SPDX-License-Identifier: BSL-1.0
#include "process/transfer/history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

namespace dlock::test {

std::string transfer_record::line() const {
  auto words = outcome;
  std::replace(words.begin(), words.end(), '\n', ' ');
  return fmt::format("{} {} {} {}\n", static_cast<char>(what), process, transfer, words);
}

transfer_record transfer_record::parse(std::string_view line) {
  std::istringstream in{std::string(line)};
  transfer_record record;
  char kind = 0;
  in >> kind >> record.process >> record.transfer;
  std::getline(in >> std::ws, record.outcome);
  if (record.transfer.empty() || std::string_view("BHE").find(kind) == std::string_view::npos ||
      (kind == 'E') == record.outcome.empty()) {
    throw std::invalid_argument(fmt::format("transfer log: '{}' is no record", line));
  }
  record.what = static_cast<transfer_record::kind>(kind);
  return record;
}

std::string transfer_findings::text() const {
  std::string all = fmt::format("{} without an end", open);
  for (const auto& [word, count] : outcomes) all += fmt::format(", {} {}", count, word);
  for (const auto& [why, count] : reasons) all += fmt::format("\n  {} x {}", count, why);
  return all;
}

namespace {

std::string first_word(const std::string& text) { return text.substr(0, text.find(' ')); }

/// The process that made a transfer: names are "<process>.<number>".
std::string maker(const entry& entry) { return entry.transfer.substr(0, entry.transfer.find('.')); }

class checker {
 public:
  explicit checker(transfer_findings& to) : to_(to) {}

  void wallets(std::int64_t balance, const std::vector<wallet>& all, const std::vector<entry>& entries) {
    std::int64_t total = 0;
    for (const auto& wallet : all) {
      total += wallet.balance;
      history(balance, wallet, entries);
    }
    const auto due = balance * static_cast<std::int64_t>(all.size());
    if (total != due) found("there are {} instead of {}", total, due);
  }

  void transfers(const std::vector<entry>& entries, const std::vector<transfer_record>& log, std::uint64_t killed) {
    const auto booked = sums(entries);
    std::map<std::string, std::string> said;  // empty: no end
    for (const auto& record : log) {
      if (record.what == transfer_record::kind::begun) said.emplace(record.transfer, "");
      if (record.what != transfer_record::kind::ended) continue;
      if (said.find(record.transfer) == said.end()) found("{} ended but never began", record.transfer);
      said[record.transfer] = record.outcome;
    }
    for (const auto& [transfer, outcome] : said) check_outcome(transfer, outcome, booked.count(transfer) != 0);
    for (const auto& [transfer, sum] : booked) {
      if (said.find(transfer) == said.end()) found("{} was written but nobody said that it began", transfer);
      if (sum.first != 2 || sum.second != 0) {
        found("{} has {} entries with the sum {}", transfer, sum.first, sum.second);
      }
    }
    if (to_.open > killed) found("{} transfers have no end, but only {} processes were killed", to_.open, killed);
  }

 private:
  template <class... Args>
  void found(fmt::format_string<Args...> text, Args&&... args) {
    to_.violations.push_back(fmt::format(text, std::forward<Args>(args)...));
  }

  void history(std::int64_t balance, const wallet& wallet, const std::vector<entry>& entries) {
    std::uint64_t fence = 0;
    std::string writer;
    for (const auto& entry : entries) {
      if (entry.wallet != wallet.id) continue;
      if (entry.fence < fence) found("wallet {}: fence {} wrote after fence {}", wallet.id, entry.fence, fence);
      if (entry.fence == fence && maker(entry) != writer) {
        found("wallet {}: both {} and {} wrote with fence {}", wallet.id, writer, maker(entry), fence);
      }
      if (entry.before != balance) {
        found("wallet {}: fence {} wrote over {} but had read {}", wallet.id, entry.fence, balance, entry.before);
      }
      balance = entry.before + entry.delta;
      fence = entry.fence;
      writer = maker(entry);
    }
    if (wallet.fence != fence) found("wallet {}: fence {} instead of {}", wallet.id, wallet.fence, fence);
    if (wallet.balance != balance) found("wallet {}: {} instead of {}", wallet.id, wallet.balance, balance);
  }

  /// By transfer: how many entries, and their sum.
  static std::map<std::string, std::pair<int, std::int64_t>> sums(const std::vector<entry>& entries) {
    std::map<std::string, std::pair<int, std::int64_t>> all;
    for (const auto& entry : entries) {
      auto& sum = all[entry.transfer];
      ++sum.first;
      sum.second += entry.delta;
    }
    return all;
  }

  void check_outcome(const std::string& transfer, const std::string& outcome, bool written) {
    if (outcome.empty()) {
      ++to_.open;
      return;
    }
    const auto word = first_word(outcome);
    ++to_.outcomes[word];
    if (word == "committed") {
      if (!written) found("{} was committed but is not there", transfer);
      return;
    }
    ++to_.reasons[outcome];
    if (word != "timeout" && word != "lost" && word != "refused" && word != "busy") found("{} {}", transfer, outcome);
    if (written) found("{} is there although it said: {}", transfer, outcome);
  }

  transfer_findings& to_;
};

}  // namespace

transfer_findings check_transfers(std::int64_t balance, const std::vector<wallet>& wallets,
                                  const std::vector<entry>& entries, const std::vector<transfer_record>& log,
                                  std::uint64_t killed) {
  transfer_findings all;
  checker check(all);
  check.wallets(balance, wallets, entries);
  check.transfers(entries, log, killed);
  return all;
}

}  // namespace dlock::test
