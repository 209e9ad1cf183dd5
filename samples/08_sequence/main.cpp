// SPDX-License-Identifier: BSL-1.0
// Invoices are numbered 1, 2, 3, ... without a gap, by clerks in several processes, some of which are killed.

#include <fmt/core.h>
#include <dlock/dlock.hpp>
#include <dlock/odb/database.hpp>
#include <dlock/odb/verify.hpp>
#include <dlock/store_interface/store_url.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
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
  int invoices = 12;  // for each clerk
  int clerk = 0;      // which one this process is; 0: the one that starts the clerks
  int stop_at = 0;    // the invoice in the midst of which this clerk is stopped; 0: none
};

/// Counter and document are one transaction, so a number is given exactly if there is a document with it. The lock lets
/// one clerk at a time look at the counter; verify makes sure of that until the commit.
// [sequence]
void write_invoice(dlock::lock_service& locks, odb::database& db, int clerk, bool stop) {
  const dlock::lease held = locks.acquire("sequence:invoice", {.ttl = 2s, .wait = 30s});
  odb::transaction t(dlock::begin_write(db));
  held.verify(t);  // the key is ours until the commit, or lock_lost and nothing of this is written

  counter numbers;
  db.load("invoice", numbers);
  invoice invoice;
  invoice.number = ++numbers.last;
  invoice.clerk = clerk;
  db.persist(invoice);
  if (stop) support::stop_here();
  db.update(numbers);

  t.commit();  // from here on it counts, whatever becomes of the lock
}
// [/sequence]

void work(const settings& s) {
  dlock::lock_service locks{s.url, {.label = fmt::format("clerk {}", s.clerk)}};
  const auto db = dlock::open_database(s.url);
  for (int done = 0; done != s.invoices;) {
    try {
      write_invoice(locks, *db, s.clerk, done + 1 == s.stop_at);
      ++done;
    } catch (const dlock::lock_lost& lost) {  // this process was not served for seconds; nothing was written
      fmt::print("clerk {} begins an invoice again: {}\n", s.clerk, lost.what());
    }
  }
}

support::process start(const settings& s, int clerk, int stop_at) {
  return support::process({"--invoices", std::to_string(s.invoices), "--clerk", std::to_string(clerk), "--stop-at",
                           std::to_string(stop_at)});
}

std::int64_t last_number(odb::database& db) {
  odb::transaction t(db.begin());
  counter numbers;
  db.load("invoice", numbers);
  t.commit();
  return numbers.last;
}

/// Who wrote which number; more than one entry for a number that was given twice.
std::multimap<std::int64_t, int> read_invoices(odb::database& db) {
  odb::transaction t(db.begin());
  std::multimap<std::int64_t, int> invoices;
  for (const invoice& each : db.query<invoice>()) invoices.emplace(each.number, each.clerk);
  t.commit();
  return invoices;
}

bool audit(odb::database& db, std::int64_t expected) {
  const auto invoices = read_invoices(db);
  std::int64_t missing = 0;
  std::int64_t twice = 0;
  for (std::int64_t number = 1; number <= expected; ++number) {
    const auto count = invoices.count(number);
    missing += count == 0 ? 1 : 0;
    twice += count > 1 ? 1 : 0;
  }
  std::map<int, int> by_clerk;
  for (const auto& [number, clerk] : invoices) ++by_clerk[clerk];
  for (const auto& [clerk, count] : by_clerk) fmt::print("clerk {} wrote {} invoices\n", clerk, count);
  const bool right = missing == 0 && twice == 0 && last_number(db) == expected &&
                     static_cast<std::int64_t>(invoices.size()) == expected;
  fmt::print("{} invoices, last number {}, numbers missing: {}, given twice: {}: {}\n", invoices.size(),
             last_number(db), missing, twice, right ? "no gap" : "WRONG");
  return right;
}

bool run(const settings& s) {
  constexpr int diligent = 4;
  constexpr int unlucky = 2;
  constexpr int stop_at = 3;  // with two invoices written
  const auto db = dlock::open_database(s.url);
  support::make_tables(*db);
  {
    odb::transaction t(dlock::begin_write(*db));
    counter numbers{"invoice", 0};
    db->persist(numbers);
    t.commit();
  }
  fmt::print("{} clerks write {} invoices each, {} more are killed in the midst of one; locks and data are in {}\n",
             diligent, s.invoices, unlucky, dlock::store_url::parse(s.url).redacted());
  std::vector<support::process> clerks;
  for (int i = 1; i <= diligent; ++i) clerks.push_back(start(s, i, 0));
  std::vector<std::int64_t> abandoned;
  for (int i = diligent + 1; i <= diligent + unlucky; ++i) {
    auto victim = start(s, i, stop_at);
    victim.wait_until_stopped();
    abandoned.push_back(last_number(*db) + 1);
    victim.kill();
    fmt::print("clerk {} was killed -9 while it wrote invoice {}\n", i, abandoned.back());
  }
  bool all_well = true;
  for (auto& each : clerks) all_well = each.wait() == 0 && all_well;

  const auto invoices = read_invoices(*db);
  for (const auto number : abandoned) {
    const auto found = invoices.find(number);
    if (found != invoices.end()) fmt::print("invoice {} was written by clerk {} then\n", number, found->second);
  }
  return audit(*db, diligent * s.invoices + unlucky * (stop_at - 1)) && all_well;
}

}  // namespace

int main(int argc, char** argv) {
  support::command_line options{"Documents with numbers that have no gaps"};
  settings s;
  options.database(s.url, support::locks_and_data);
  options.number("--invoices", s.invoices, 3, 100'000, "For each clerk");
  options.hidden("--clerk", s.clerk);  // the program starts itself with these two
  options.hidden("--stop-at", s.stop_at);
  return support::run_process(
      options, argc, argv, s.url, s.clerk, [&] { return run(s); }, [&] { work(s); });
}
