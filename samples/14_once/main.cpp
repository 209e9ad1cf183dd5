// SPDX-License-Identifier: BSL-1.0
// Each of several processes gets every payment, as a queue delivers messages that may come twice. Each payment is
// credited exactly once, though a process is killed in the midst of one. And one of them greets, once.

#include <fmt/core.h>
#include <dlock/dlock.hpp>
#include <dlock/odb/database.hpp>
#include <dlock/odb/once.hpp>
#include <dlock/store_interface/store_url.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <odb/exceptions.hxx>
#include <string>
#include <vector>

#include "entities-odb.hxx"
#include "entities.hpp"
#include "support/command_line.hpp"
#include "support/database.hpp"
#include "support/process.hpp"

namespace {

using namespace std::chrono_literals;

constexpr int payments = 10;

struct settings {
  std::string url = "sqlite:locks.db";
  int worker = 0;   // which one this process is; 0: the one that starts the others
  int stop_at = 0;  // the payment in the midst of which this process is stopped; 0: none
  int batch = 0;    // names the payments of this run
};

// [exactly]
/// The credit and its mark are committed together, or neither is.
void credit_once(dlock::lock_service& locks, odb::database& db, const std::string& payment, long amount) {
  odb::transaction t{dlock::begin_write(db)};
  locks.once(t, "payment:" + payment, [&] {
    // Not what was read plus the amount: another payment may be credited at the same time, under another key.
    db.execute(fmt::format("UPDATE sample_once_account SET balance = balance + {} WHERE id = 1", amount));
  });
  t.commit();
}
// [/exactly]

std::string name_of(const settings& s, int payment) { return fmt::format("{}:{}", s.batch, payment); }

void work(const settings& s) {
  dlock::lock_service locks{s.url, {.label = fmt::format("worker {}", s.worker)}};
  const auto db = dlock::open_database(s.url);
  // At least once: a process that dies between the text and the mark leaves it to the next one.
  locks.once("greeting:" + std::to_string(s.batch), {.valid = 24h},
             [&] { fmt::print("worker {} says hello\n", s.worker); });
  for (int payment = 1; payment <= payments;) {
    if (payment == s.stop_at) {
      odb::transaction t{dlock::begin_write(*db)};
      locks.once(t, "payment:" + name_of(s, payment), [] { support::stop_here(); });
      t.commit();
    }
    try {
      credit_once(locks, *db, name_of(s, payment), 10);
      ++payment;
    } catch (const dlock::store_error& why) {
      if (!why.transient()) throw;  // a deadlock with another one that credits the same payment: again
    } catch (const odb::recoverable&) {
    }
  }
}

bool run(settings s) {
  fmt::print("3 processes get {} payments each; locks, marks and data are in {}\n", payments,
             dlock::store_url::parse(s.url).redacted());
  const auto db = dlock::open_database(s.url);
  support::make_tables(*db);
  {
    odb::transaction t{db->begin()};
    account first{.id = 1};
    db->persist(first);
    t.commit();
  }
  s.batch = static_cast<int>(std::chrono::system_clock::now().time_since_epoch() / 1ms % 1'000'000'000);
  const auto start = [&](int worker, int stop_at) {
    return support::process(
        {"--worker", std::to_string(worker), "--stop-at", std::to_string(stop_at), "--batch", std::to_string(s.batch)});
  };
  auto victim = start(1, 4);
  victim.wait_until_stopped();
  fmt::print("worker 1 has credited 3 payments, and is killed in the midst of the next one\n");
  victim.kill();
  std::vector<support::process> others;
  for (const int worker : {2, 3}) others.push_back(start(worker, 0));
  bool well = true;
  for (auto& each : others) well = each.wait() == 0 && well;
  odb::transaction t{db->begin()};
  const auto balance = std::unique_ptr<account>(db->load<account>(1))->balance;
  t.commit();
  const bool right = balance == 10L * payments;
  fmt::print("balance {}: {}\n", balance, right ? "each payment was credited once" : "WRONG");
  return well && right;
}

}  // namespace

int main(int argc, char** argv) {
  support::command_line options{"Payments that may come twice are credited once"};
  settings s;
  options.database(s.url, support::locks_and_data);
  options.hidden("--worker", s.worker);  // the program starts itself with these three
  options.hidden("--stop-at", s.stop_at);
  options.hidden("--batch", s.batch);
  return support::run_process(
      options, argc, argv, s.url, s.worker, [&] { return run(s); }, [&] { work(s); });
}
