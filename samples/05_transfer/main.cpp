// SPDX-License-Identifier: BSL-1.0
// Several processes move money between wallets, two of them at a time. Some are killed in the midst of it.

#include <fmt/core.h>
#include <dlock/dlock.hpp>
#include <dlock/odb/database.hpp>
#include <dlock/odb/verify.hpp>
#include <dlock/store_interface/store_url.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "entities-odb.hxx"
#include "entities.hpp"
#include "support/command_line.hpp"
#include "support/database.hpp"
#include "support/process.hpp"

namespace {

using namespace std::chrono_literals;

struct settings {
  std::string url = "sqlite:locks.db";
  int transfers = 25;  // for each teller
  int teller = 0;      // which one this process is; 0: the one that starts the tellers
  int stop_at = 0;     // the transfer in the midst of which this teller is stopped; 0: none
};

const std::vector<std::string> names{"ann", "bob", "cleo", "dan", "eve"};
constexpr std::int64_t opening = 1'000;

// [transfer]
/// False: there is not enough money; nothing was written.
bool move_money(dlock::lock_service& locks, odb::database& db, const transfer& wanted, bool stop) {
  // Both wallets or none, in an order that all processes share, so two transfers that cross can't block each other.
  const auto both =
      locks.acquire_all({dlock::key<"wallet:{name}">(wanted.source), dlock::key<"wallet:{name}">(wanted.target)},
                        {.ttl = 2s, .wait = 30s});
  odb::transaction t(dlock::begin_write(db));
  both.verify(t);  // both are ours until the commit, or lock_lost and nothing of this is written

  wallet source;
  wallet target;
  db.load(wanted.source, source);
  db.load(wanted.target, target);
  if (source.balance < wanted.amount) return false;
  source.balance -= wanted.amount;
  db.update(source);
  if (stop) support::stop_here();  // the money has left one wallet and is not in the other
  target.balance += wanted.amount;
  db.update(target);
  transfer done = wanted;
  db.persist(done);

  t.commit();  // from here on it counts, whatever becomes of the locks
  return true;
}
// [/transfer]

transfer any_transfer(std::mt19937& random) {
  const auto below = [&](std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
  };
  const auto source = below(names.size());
  const auto target = (source + 1 + below(names.size() - 1)) % names.size();  // another one
  transfer chosen;
  chosen.source = names[source];
  chosen.target = names[target];
  chosen.amount = static_cast<std::int64_t>(1 + below(500));
  return chosen;
}

void work(const settings& s) {
  dlock::lock_service locks{s.url, {.label = fmt::format("teller {}", s.teller)}};
  const auto db = dlock::open_database(s.url);
  std::mt19937 random(static_cast<unsigned>(s.teller));
  for (int done = 0; done != s.transfers;) {
    const bool stop = done + 1 == s.stop_at;
    try {
      if (move_money(locks, *db, any_transfer(random), stop)) ++done;
    } catch (const dlock::lock_lost& lost) {  // this process was not served for seconds; nothing was written
      fmt::print("teller {} begins a transfer again: {}\n", s.teller, lost.what());
    }
  }
}

support::process start(const settings& s, int teller, int stop_at) {
  return support::process({"--transfers", std::to_string(s.transfers), "--teller", std::to_string(teller), "--stop-at",
                           std::to_string(stop_at)});
}

void open_wallets(odb::database& db) {
  support::make_tables(db);
  odb::transaction t(dlock::begin_write(db));
  for (const auto& name : names) {
    wallet wallet{name, opening};
    db.persist(wallet);
  }
  t.commit();
}

/// Each wallet must have what was in it, less what went out, plus what came in: no transfer half done, none undone.
bool audit(odb::database& db, std::size_t expected) {
  odb::transaction t(db.begin());
  std::map<std::string, std::int64_t> balance;
  for (const auto& name : names) balance[name] = opening;
  std::size_t transfers = 0;
  for (const transfer& each : db.query<transfer>()) {
    balance[each.source] -= each.amount;
    balance[each.target] += each.amount;
    ++transfers;
  }
  bool right = transfers == expected;
  std::int64_t total = 0;
  for (const wallet& each : db.query<wallet>()) {
    const bool fits = each.balance == balance[each.name] && each.balance >= 0;
    fmt::print("{:5} has {:5}{}\n", each.name, each.balance, fits ? "" : ", which does not follow from the transfers");
    right = right && fits;
    total += each.balance;
  }
  t.commit();
  const auto before = opening * static_cast<std::int64_t>(names.size());
  right = right && total == before;
  fmt::print("{} transfers of {}, total {} of {}: {}\n", transfers, expected, total, before,
             right ? "nothing was lost or made" : "WRONG");
  return right;
}

bool run(const settings& s) {
  constexpr int diligent = 4;
  constexpr int unlucky = 2;
  constexpr int stop_at = 4;  // with three transfers done
  const auto db = dlock::open_database(s.url);
  open_wallets(*db);
  fmt::print("{} tellers make {} transfers each, {} more are killed in the midst of one; locks and data are in {}\n",
             diligent, s.transfers, unlucky, dlock::store_url::parse(s.url).redacted());
  std::vector<support::process> tellers;
  for (int i = 1; i <= diligent; ++i) tellers.push_back(start(s, i, 0));
  for (int i = diligent + 1; i <= diligent + unlucky; ++i) {
    auto victim = start(s, i, stop_at);
    victim.wait_until_stopped();
    victim.kill();
    fmt::print("teller {} was killed -9 with two wallets locked and the money between them\n", i);
  }
  bool all_well = true;
  for (auto& each : tellers) all_well = each.wait() == 0 && all_well;
  return audit(*db, static_cast<std::size_t>(diligent * s.transfers + unlucky * (stop_at - 1))) && all_well;
}

}  // namespace

int main(int argc, char** argv) {
  support::command_line options{"Money between wallets"};
  settings s;
  options.database(s.url, support::locks_and_data);
  options.number("--transfers", s.transfers, 4, 100'000, "For each teller");
  options.hidden("--teller", s.teller);  // the program starts itself with these two
  options.hidden("--stop-at", s.stop_at);
  return support::run_process(
      options, argc, argv, s.url, s.teller, [&] { return run(s); }, [&] { work(s); });
}
